package queue

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Headers of messages.
const (
	headNeeds  = "Merit-Needs"  // of work: digests of needed contents
	headWorker = "Merit-Worker" // of results: the worker's name
	headKey    = "Merit-Key"    // of results: the worker's public key
	headSign   = "Merit-Sign"   // of results: the worker's signature of the subject and the digest
	headDigest = "Merit-Digest" // of results: digest of the body
	headSize   = "Merit-Size"   // of results: bytes of the body, if it is in the stream of bodies
	headTries  = "Merit-Tries"  // of results: how often the shard was delivered
	headFailed = "Merit-Failed" // of results: the shard failed, and the body says why
	headCPU    = "Merit-CPU"    // of results: CPU seconds; informational, absent if the coordinator measures them itself
	headUsed   = "Merit-Used"   // of results: what language models used, as JSON; informational
)

// most is the largest part of a body in one message, in bytes. It is below the server's limit
// and leaves space for headers.
const most = 900 << 10

func encodeWork(p place, s Shard) *nats.Msg {
	m := nats.NewMsg(p.work())
	m.Data = s.Body
	for _, c := range s.Needs {
		m.Header.Add(headNeeds, string(c.Digest))
	}
	return m
}

// decodeWork decodes a shard that a coordinator sent.
func (c *conn) decodeWork(p place, h nats.Header, data []byte) (Shard, error) {
	s := Shard{Kind: p.kind, Index: p.index, Body: data}
	for _, d := range h.Values(headNeeds) {
		s.Needs = append(s.Needs, c.content(Digest(d)))
	}
	return s, s.Check()
}

// envelope holds what a result states besides its body.
type envelope struct {
	worker string
	key    string // public key; empty if the worker has none
	digest Digest
	stored int // bytes in the stream of bodies; -1 if the body is in the message
	tries  int // how often the shard was delivered
	failed bool
	used   cost.Models // what language models used; differs from worker to worker, so it is not signed
	cpu    float64     // CPU seconds, likewise
}

// by returns the worker's identity: its key, or its name if it has no key.
func (e envelope) by() string { return cmp.Or(e.key, e.worker) }

// part returns the subject of a part of the body. It belongs to one try of one worker: the
// server accepts no other key there, and only one message.
func (e envelope) part(p place, i int) string {
	return fmt.Sprintf("%s%d", e.parts(p), i)
}

func (e envelope) parts(p place) string {
	name := DigestOfBytes([]byte(p.tail() + " " + e.worker + " " + strconv.Itoa(e.tries)))
	return "merit.body." + cmp.Or(e.key, nobody) + "." + name.Hex() + "."
}

// signed returns the bytes that a worker signs.
func (e envelope) signed(subject string) []byte {
	text := subject + "\n" + string(e.digest)
	if e.failed {
		text += "\nfailed"
	}
	return []byte(text)
}

// seal returns the headers for e, signed by key if it is not nil.
func (e envelope) seal(subject string, key nkeys.KeyPair) (nats.Header, error) {
	h := nats.Header{headWorker: {e.worker}, headDigest: {string(e.digest)}, headTries: {strconv.Itoa(e.tries)}}
	if e.stored >= 0 {
		h.Set(headSize, strconv.Itoa(e.stored))
	}
	if e.failed {
		h.Set(headFailed, "yes")
	}
	if e.cpu > 0 {
		h.Set(headCPU, strconv.FormatFloat(e.cpu, 'f', 6, 64))
	}
	if text, err := json.Marshal(e.used); err == nil && e.used != nil && len(text) <= maxUsed {
		h.Set(headUsed, string(text))
	}
	if key == nil {
		return h, nil
	}
	sign, err := key.Sign(e.signed(subject))
	h.Set(headKey, e.key)
	h.Set(headSign, base64.StdEncoding.EncodeToString(sign))
	return h, err
}

// open decodes and checks the headers of an untrusted result. Name and key are the sender's
// claims, the signature matches the key if there is one, and the digest matches data if data is
// the body.
func open(subject string, h nats.Header, data []byte) (e envelope, err error) {
	e = envelope{worker: h.Get(headWorker), key: h.Get(headKey), digest: Digest(h.Get(headDigest)), stored: -1, failed: h.Get(headFailed) != ""}
	if !named(e.worker) {
		return e, errors.New("the result does not name its worker")
	}
	if e.tries, err = strconv.Atoi(h.Get(headTries)); err != nil || e.tries < 1 || e.tries > 1000 {
		return e, errors.New("the result does not give the number of its try")
	}
	if !e.digest.Valid() {
		return e, errors.New("the digest is invalid")
	}
	e.used, e.cpu = usedBy(h.Get(headUsed)), secondsOf(h.Get(headCPU))
	if size := h.Get(headSize); size != "" {
		if e.stored, err = strconv.Atoi(size); err != nil || e.stored < 0 || e.stored > MaxResult || len(data) > 0 {
			return e, errors.New("the size is invalid")
		}
	} else if DigestOfBytes(data) != e.digest {
		return e, errors.New("the body does not match its digest")
	}
	if e.key == "" {
		return e, nil
	}
	key, err := nkeys.FromPublicKey(e.key)
	if err != nil {
		return e, errors.New("the key is invalid")
	}
	sign, err := base64.StdEncoding.DecodeString(h.Get(headSign))
	if err != nil || key.Verify(e.signed(subject), sign) != nil {
		return e, errors.New("the signature is wrong")
	}
	return e, nil
}

// usedBy decodes what language models used for a result; nil if it does not say.
func usedBy(text string) (used cost.Models) {
	if text == "" || len(text) > maxUsed || strictjson.Unmarshal([]byte(text), &used) != nil {
		return nil
	}
	for _, u := range used {
		if !u.Valid() {
			return nil
		}
	}
	return used
}

// secondsOf decodes CPU seconds; 0 if they cannot be true.
func secondsOf(text string) float64 {
	const most = 1e7 // four months
	if x, err := strconv.ParseFloat(text, 64); err == nil && x >= 0 && x <= most {
		return x
	}
	return 0
}

// named reports whether s is a valid worker name: at most 64 letters, digits, dashes and
// underscores.
func named(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, wordLetters+"-_") == ""
}

const (
	maxCause = 2 << 10 // bytes of the reason for a failed try
	maxLog   = 1 << 10 // bytes of a log line
	maxUsed  = 8 << 10 // bytes of what language models used
)

// plain makes untrusted text printable: it keeps at most the given number of bytes and replaces
// control characters.
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
