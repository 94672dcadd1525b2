package queue

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// The headers of messages.
const (
	headNeeds  = "Merit-Needs"  // of work: digests
	headWorker = "Merit-Worker" // of results: who computed it
	headKey    = "Merit-Key"    // of results: that worker's public key
	headSign   = "Merit-Sign"   // of results: its signature of the subject and the digest
	headDigest = "Merit-Digest" // of results: of the body
	headSize   = "Merit-Size"   // of results: bytes of the body, if the stream of bodies has it
	headTries  = "Merit-Tries"  // of results: how often the shard was handed out
	headFailed = "Merit-Failed" // of results: there is none, and the body says why
)

// most is how many bytes of a body go with a message: under the server's bound
// with room for headers.
const most = 900 << 10

func encodeWork(p place, s Shard) *nats.Msg {
	m := nats.NewMsg(p.work())
	m.Data = s.Body
	for _, c := range s.Needs {
		m.Header.Add(headNeeds, string(c.Digest))
	}
	return m
}

// decodeWork reads a shard that a coordinator sent.
func (c *conn) decodeWork(p place, h nats.Header, data []byte) (Shard, error) {
	s := Shard{Kind: p.kind, Index: p.index, Body: data}
	for _, d := range h.Values(headNeeds) {
		s.Needs = append(s.Needs, c.content(Digest(d)))
	}
	return s, s.Check()
}

// envelope is what a result says beside its body.
type envelope struct {
	worker string
	key    string // public; empty without one
	digest Digest
	stored int // bytes that the stream of bodies has; -1 if the message has them
	tries  int // how often the shard was handed out
	failed bool
}

// by is who answers for a result: a key, or a name where there are none.
func (e envelope) by() string { return cmp.Or(e.key, e.worker) }

// part is the subject of a part of the body, of this try of this worker alone: the
// server lets nobody else write there, and nobody twice.
func (e envelope) part(p place, i int) string {
	return fmt.Sprintf("%s%d", e.parts(p), i)
}

func (e envelope) parts(p place) string {
	name := DigestOfBytes([]byte(p.tail() + " " + e.worker + " " + strconv.Itoa(e.tries)))
	return "merit.body." + cmp.Or(e.key, nobody) + "." + name.Hex() + "."
}

// signed is what a worker puts its signature under.
func (e envelope) signed(subject string) []byte {
	text := subject + "\n" + string(e.digest)
	if e.failed {
		text += "\nfailed"
	}
	return []byte(text)
}

// seal writes e for a message of subject, signed by key if there is one.
func (e envelope) seal(subject string, key nkeys.KeyPair) (nats.Header, error) {
	h := nats.Header{headWorker: {e.worker}, headDigest: {string(e.digest)}, headTries: {strconv.Itoa(e.tries)}}
	if e.stored >= 0 {
		h.Set(headSize, strconv.Itoa(e.stored))
	}
	if e.failed {
		h.Set(headFailed, "yes")
	}
	if key == nil {
		return h, nil
	}
	sign, err := key.Sign(e.signed(subject))
	h.Set(headKey, e.key)
	h.Set(headSign, base64.StdEncoding.EncodeToString(sign))
	return h, err
}

// open reads what a worker wrote, whom nobody trusts: the name and key are its
// own, and the digest is that of data, if data is the body.
func open(subject string, h nats.Header, data []byte) (e envelope, err error) {
	e = envelope{worker: h.Get(headWorker), key: h.Get(headKey), digest: Digest(h.Get(headDigest)), stored: -1, failed: h.Get(headFailed) != ""}
	if !named(e.worker) {
		return e, errors.New("it does not say by what worker")
	}
	if e.tries, err = strconv.Atoi(h.Get(headTries)); err != nil || e.tries < 1 || e.tries > 1000 {
		return e, errors.New("it does not say in which try")
	}
	if !e.digest.Valid() {
		return e, errors.New("its digest is none")
	}
	if size := h.Get(headSize); size != "" {
		if e.stored, err = strconv.Atoi(size); err != nil || e.stored < 0 || e.stored > MaxResult || len(data) > 0 {
			return e, errors.New("its size is none")
		}
	} else if DigestOfBytes(data) != e.digest {
		return e, errors.New("its body is not what its digest says")
	}
	if e.key == "" {
		return e, nil
	}
	key, err := nkeys.FromPublicKey(e.key)
	if err != nil {
		return e, errors.New("its key is none")
	}
	sign, err := base64.StdEncoding.DecodeString(h.Get(headSign))
	if err != nil || key.Verify(e.signed(subject), sign) != nil {
		return e, errors.New("its signature is wrong")
	}
	return e, nil
}

// named reports whether s can be the name of a worker: words with dots and
// underscores between.
func named(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, wordLetters+"-_") == ""
}

const (
	maxCause = 2 << 10 // bytes of why a try failed
	maxLog   = 1 << 10 // bytes of a line of a log
)

// plain is text that another end wrote, for people: of at most so many bytes, and
// nothing in it that a terminal obeys.
func plain(text []byte, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '�'
	}, strings.ToValidUTF8(string(text), "�"))
	if cut {
		clean += " …"
	}
	return clean
}
