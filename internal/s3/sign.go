package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Constants of AWS Signature Version 4: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const (
	algorithm = "AWS4-HMAC-SHA256"
	// emptyHash is the SHA-256 of an empty body.
	emptyHash  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	timeFormat = "20060102T150405Z"
)

// sign signs a request whose body has this SHA-256. The signature covers the method, path, query, host and the headers
// set so far.
func sign(req *http.Request, keyID, secret, region, bodyHash string, now time.Time) {
	at := now.UTC().Format(timeFormat)
	req.Header.Set("X-Amz-Date", at)
	req.Header.Set("X-Amz-Content-Sha256", bodyHash)
	names, headers := canonicalHeaders(req)
	canonical := strings.Join([]string{
		req.Method, req.URL.EscapedPath(), req.URL.RawQuery, headers, names, bodyHash,
	}, "\n")
	scope := at[:len("20060102")] + "/" + region + "/s3/aws4_request"
	hashed := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{algorithm, at, scope, hex.EncodeToString(hashed[:])}, "\n")
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set(
		"Authorization",
		algorithm+" Credential="+keyID+"/"+scope+",SignedHeaders="+names+",Signature="+hex.EncodeToString(
			mac(key, text),
		),
	)
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalHeaders returns the sorted header names, and the headers as sorted lines.
func canonicalHeaders(req *http.Request) (names, lines string) {
	values := map[string]string{"host": req.URL.Host}
	sorted := []string{"host"}
	for name, v := range req.Header {
		name = strings.ToLower(name)
		values[name] = strings.TrimSpace(strings.Join(v, ","))
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var b strings.Builder
	for _, name := range sorted {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(sorted, ";"), b.String()
}

// canonicalQuery returns the encoding that is signed and sent: sorted, and percent-encoded without "+".
func canonicalQuery(query url.Values) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(query)) { // sorted by name, because "=" sorts after "-"
		values := slices.Sorted(slices.Values(query[name]))
		for _, v := range values {
			parts = append(parts, encode(name, false)+"="+encode(v, false))
		}
	}
	return strings.Join(parts, "&")
}

// encode percent-encodes everything but letters, digits and -._~, and the slash in paths. net/url encodes fewer
// characters, which would change the signature.
func encode(s string, path bool) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c &&
			c <= '9', strings.IndexByte("-._~", c) >= 0, path && c == '/':
			b.WriteByte(c)
		default:
			b.WriteString("%" + string(hexDigits[c>>4]) + string(hexDigits[c&15]))
		}
	}
	return b.String()
}
