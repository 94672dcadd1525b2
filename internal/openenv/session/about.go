package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/merit-rl/merit/internal/base/netcause"
	"github.com/merit-rl/merit/internal/openenv/shape"
)

// Get reads the body of an endpoint such as /schema. If the status is not 200, the error
// is a *Refused.
func (s *Server) Get(ctx context.Context, endpoint string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, s.Connect)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+endpoint, nil)
	if err != nil {
		return err
	}
	request.Header = s.Header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return netcause.Of(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return &Refused{Status: response.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, s.MaxMessage+1))
	switch {
	case err != nil:
		return netcause.Of(err)
	case int64(len(text)) > s.MaxMessage:
		return fmt.Errorf("the body of %s is longer than max_message, %d bytes", endpoint, s.MaxMessage)
	}
	if err := shape.DecodeBody(text, into); err != nil {
		return fmt.Errorf("cannot read %s: %w", endpoint, err)
	}
	return nil
}

// Full reports whether err means that the server is full or not started yet, so that a
// retry may succeed.
func Full(err error) bool {
	var f *shape.Failure
	if errors.As(err, &f) {
		return f.Code == shape.CapacityReached
	}
	var r *Refused
	if errors.As(err, &r) {
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable || r.Status == http.StatusBadGateway
	}
	return unreachable(err)
}
