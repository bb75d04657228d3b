package s3

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The examples and their key are from Amazon's documentation, "Authenticating Requests: Using the Authorization
// Header".
func TestSignaturesMatchAmazonsExamples(t *testing.T) {
	t.Parallel()
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, path, spans, names, want string
		query                          url.Values
	}{
		{
			name: "get an object", path: "/test.txt", spans: "bytes=0-9",
			names: "host;range;x-amz-content-sha256;x-amz-date",
			want:  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		{
			name: "get the life cycle", path: "/", query: url.Values{"lifecycle": {""}},
			names: "host;x-amz-content-sha256;x-amz-date",
			want:  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		},
		{
			name: "list objects", path: "/", query: url.Values{"prefix": {"J"}, "max-keys": {"2"}},
			names: "host;x-amz-content-sha256;x-amz-date",
			want:  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		req, err := http.NewRequestWithContext(
			t.Context(), http.MethodGet, "https://examplebucket.s3.amazonaws.com"+c.path+"?"+canonicalQuery(c.query),
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		if c.spans != "" {
			req.Header.Set("Range", c.spans)
		}
		sign(req, "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", emptyHash, at)
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" +
			c.names + ",Signature=" + c.want
		if got := req.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

func TestWhatIsSignedIsEncodedAsTheStoreDoes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a b/c+d":  "a%20b/c%2Bd",
		"ü!'()*":   "%C3%BC%21%27%28%29%2A",
		"~-._":     "~-._",
		"//x//":    "//x//",
		"a?b#c&%=": "a%3Fb%23c%26%25%3D",
	} {
		if got := encode(in, true); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		back, err := url.PathUnescape(encode(in, true))
		if err != nil || back != in {
			t.Errorf("%q comes back as %q (%v)", in, back, err)
		}
	}
	if got := encode("a/b", false); got != "a%2Fb" {
		t.Errorf("in a query: %s", got)
	}
	if got := canonicalQuery(url.Values{"b": {"2", "1"}, "a-": {"x y"}, "a": {""}}); strings.Contains(got, "+") ||
		got != "a=&a-=x%20y&b=1&b=2" {
		t.Errorf("query %s", got)
	}
}

func TestABucketIsWhereItsStoreHasIt(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"https://papers.s3.us-east-1.amazonaws.com":     {Bucket: "papers"},
		"https://papers.s3.cn-north-1.amazonaws.com.cn": {Bucket: "papers", Region: "cn-north-1"},
		"https://s3.eu-west-1.amazonaws.com/my.papers":  {Bucket: "my.papers", Region: "eu-west-1"},
		"http://minio.local:9000/papers":                {Bucket: "papers", Endpoint: "http://minio.local:9000/"},
	} {
		b, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.base.String(); got != want {
			t.Errorf("%+v is at %s, want %s", o, got, want)
		}
	}
}

func FuzzListing(f *testing.F) {
	f.Add(
		"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"+
			"<NextContinuationToken>x</NextContinuationToken><Contents><Key>a%20b</Key><ETag>&quot;1&quot;</ETag>"+
			"<Size>1</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents></ListBucketResult>",
		"",
	)
	f.Add("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "x")
	f.Fuzz(func(t *testing.T, text, token string) {
		p, err := readPage(strings.NewReader(text), token)
		if err == nil && p.Truncated && (p.Next == "" || p.Next == token) {
			t.Fatal("a listing that does not get on is read on and on")
		}
	})
}
