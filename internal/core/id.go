package core

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// The prefixes of ids, one per kind of object, so that an id in a log or a bug report shows its kind.
const (
	PrefixUser       = "usr"
	PrefixAgent      = "agt"
	PrefixSource     = "src"
	PrefixDocument   = "doc"
	PrefixThread     = "thr"
	PrefixMessage    = "msg"
	PrefixTurn       = "trn"
	PrefixMemory     = "mem"
	PrefixCredential = "crd"
	PrefixGrant      = "grt"
	PrefixClient     = "cli"
	PrefixWebhook    = "whk"
	PrefixDelivery   = "whd"
	PrefixSpend      = "spd"
	PrefixCollection = "col"
	PrefixLink       = "lnk"
	PrefixInvitation = "inv"
	PrefixSaved      = "sav"
	PrefixBin        = "bin"
)

// idAlphabet is Crockford's base32 in lower case. It is in ASCII order, so ids sort like their bytes.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// isIDDigit tells the bytes of idAlphabet from others.
var isIDDigit = func() (is [256]bool) {
	for _, c := range []byte(idAlphabet) {
		is[c] = true
	}
	return is
}()

// idLength is the number of base32 digits that hold 128 bits.
const idLength = 26

// idTicks makes the time part of ids strictly increasing within the process, so that ids of the same millisecond sort
// in the order of their creation. Lists are paged by id and rely on this.
var idTicks struct {
	sync.Mutex
	last uint64
}

// NewID returns a new id: the prefix, an underscore, and a UUIDv7 (RFC 9562) in base32.
// Ids are opaque to clients. Our code relies only on later ids sorting after earlier ones.
func NewID(prefix string) string {
	return prefix + "_" + newIDBody(time.Now())
}

func newIDBody(now time.Time) string {
	// 48 bits of milliseconds, then 12 bits of the millisecond's fraction (RFC 9562, 6.2 method 3).
	tick := uint64(now.UnixMilli())<<12 | uint64(now.Nanosecond()%1e6)*4096/1e6
	idTicks.Lock()
	if tick <= idTicks.last {
		tick = idTicks.last + 1
	}
	idTicks.last = tick
	idTicks.Unlock()

	var b [16]byte
	_, _ = rand.Read(b[8:]) // documented never to fail
	binary.BigEndian.PutUint64(b[:8], tick>>12<<16|0x7000|tick&0x0fff)
	b[8] = b[8]&0x3f | 0x80
	return encodeID(b)
}

func encodeID(b [16]byte) string {
	var out [idLength]byte
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	for i := idLength - 1; i >= 0; i-- {
		out[i] = idAlphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:])
}

// IsID reports whether s has the form of an id with this prefix. Checking it keeps invalid input out of queries. It
// does not mean that the object exists.
func IsID(prefix, s string) bool {
	body, ok := strings.CutPrefix(s, prefix)
	if !ok || len(body) != 1+idLength || body[0] != '_' {
		return false
	}
	for i := 1; i < len(body); i++ {
		if !isIDDigit[body[i]] {
			return false
		}
	}
	return true
}
