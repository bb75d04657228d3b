// Package s3 lists, downloads, stores and deletes objects of Amazon S3 and compatible stores. The public client
// libraries are larger than all of Carrel's parsers; Carrel needs one signature (sign.go) and five requests.
package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultRegion is used if no region is set; most compatible stores accept it.
	DefaultRegion = "us-east-1"
	// maxPages limits a listing; a page has up to a thousand objects.
	maxPages = 1000
	// maxPage and maxFault limit the bytes of a listing page and of an error reply.
	maxPage  = 16 << 20
	maxFault = 64 << 10
	// pageTime and objectTime limit one request including its body.
	pageTime   = time.Minute
	objectTime = 15 * time.Minute
)

// ErrEndless means that a listing has more objects than maxPages allows.
var ErrEndless = errors.New("s3: the listing has no end")

// Options configures a Bucket.
type Options struct {
	// Client sends the requests. It must not follow redirects, because a signature is valid for one address.
	Client *http.Client
	Bucket string
	// Endpoint is the address of a compatible store; empty means Amazon.
	Endpoint string
	// Region defaults to DefaultRegion.
	Region string
	// KeyID and Secret sign the requests; without them only public buckets can be read.
	KeyID, Secret string
	// Now returns the time of signatures.
	Now func() time.Time
	// Wait waits for a duration or until the context ends.
	Wait func(context.Context, time.Duration) error
	// UserAgent is the User-Agent header.
	UserAgent string
}

// Bucket reads a bucket. It is safe for concurrent use.
type Bucket struct {
	o Options
	// base is the address of the bucket, without a trailing slash.
	base url.URL
}

// Open returns a Bucket. It sends no request.
func Open(o Options) (*Bucket, error) {
	if o.Region == "" {
		o.Region = DefaultRegion
	}
	b := &Bucket{o: o}
	switch {
	case o.Endpoint != "":
		// Compatible stores rarely have a DNS name for each bucket, so the bucket is in the path.
		at, err := url.Parse(o.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("s3: read the endpoint: %w", err)
		}
		b.base = url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/" + o.Bucket}
	case strings.Contains(o.Bucket, "."):
		// The certificate of *.s3.amazonaws.com does not cover names with dots.
		b.base = url.URL{Scheme: "https", Host: amazon(o.Region), Path: "/" + o.Bucket}
	default:
		b.base = url.URL{Scheme: "https", Host: o.Bucket + "." + amazon(o.Region)}
	}
	return b, nil
}

// amazon returns the host of a region; China has its own domain.
func amazon(region string) string {
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return host
}

// Object is the metadata of an object.
type Object struct {
	Key string
	// ETag changes with the content; it may be empty.
	ETag     string
	Size     int64
	Modified time.Time
}

// page is a reply to ListObjectsV2.
type page struct {
	XMLName   xml.Name `xml:"ListBucketResult"`
	Truncated bool     `xml:"IsTruncated"`
	Next      string   `xml:"NextContinuationToken"`
	Encoding  string   `xml:"EncodingType"`
	Contents  []struct {
		Key          string    `xml:"Key"`
		ETag         string    `xml:"ETag"`
		Size         int64     `xml:"Size"`
		LastModified time.Time `xml:"LastModified"`
	} `xml:"Contents"`
}

// List yields the objects whose keys begin with a prefix. An error ends the sequence.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		token := ""
		for range maxPages {
			p, err := b.page(ctx, prefix, token)
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, c := range p.Contents {
				if !yield(Object{Key: c.Key, ETag: c.ETag, Size: c.Size, Modified: c.LastModified}, nil) {
					return
				}
			}
			if !p.Truncated {
				return
			}
			token = p.Next
		}
		yield(Object{}, ErrEndless)
	}
}

func (b *Bucket) page(ctx context.Context, prefix, token string) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	// Keys may contain characters that XML can't represent, so they are requested URL-encoded.
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	if token != "" {
		query.Set("continuation-token", token)
	}
	res, err := b.ask(ctx, "/", query)
	if err != nil {
		return page{}, err
	}
	defer func() { _ = res.Body.Close() }()
	return readPage(res.Body, token)
}

// readPage decodes the listing page that was requested with a token.
func readPage(r io.Reader, token string) (p page, err error) {
	if err := xml.NewDecoder(io.LimitReader(r, maxPage)).Decode(&p); err != nil {
		return page{}, fmt.Errorf("s3: read a listing: %w", err)
	}
	if p.Truncated && (p.Next == "" || p.Next == token) {
		return page{}, ErrEndless
	}
	for i := range p.Contents {
		if p.Encoding != "url" {
			break
		}
		if p.Contents[i].Key, err = url.QueryUnescape(p.Contents[i].Key); err != nil {
			return page{}, fmt.Errorf("s3: read a key: %w", err)
		}
	}
	return p, nil
}

// Get opens the current version of an object, which may differ from the listing. The size is -1 if the store does not
// send it. The caller closes the body. A truncated body fails on its last read.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	res, err := b.ask(ctx, "/"+key, nil) //nolint:bodyclose // the caller closes it
	if err != nil {
		cancel()
		return nil, Object{}, err
	}
	o := Object{Key: key, ETag: res.Header.Get("ETag"), Size: res.ContentLength}
	o.Modified, _ = http.ParseTime(res.Header.Get("Last-Modified")) // the zero time means unknown
	return &body{res.Body, cancel}, o, nil
}

// body cancels its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// Error is an error reply of the store.
type Error struct {
	Status int
	// Code is the store's error code, such as NoSuchBucket, or empty.
	Code string
	// Region is the region of the bucket, if the store reports that the request went to another one.
	Region string
}

// Error returns the status and the code.
func (e *Error) Error() string {
	return "s3: the store answers with status " + strconv.Itoa(e.Status) + " " + e.Code
}

// Busy reports whether the store is overloaded or failing.
func (e *Error) Busy() bool { return e.Status == http.StatusTooManyRequests || e.Status >= 500 }

// IsNotFound reports whether an error means that there is no such object.
func IsNotFound(err error) bool {
	fault, is := errors.AsType[*Error](err)
	return is && fault.Status == http.StatusNotFound
}

// attempts limits the requests to a busy store; the backoff doubles from firstPause, as AWS recommends for 503
// SlowDown.
const (
	attempts   = 5
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
)

// ask sends a GET request below the bucket and retries while the store is busy.
func (b *Bucket) ask(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	return b.retry(ctx, http.StatusOK, func() (*http.Response, error) {
		return b.send(ctx, request{method: http.MethodGet, path: path, query: query})
	})
}

// retry sends a request again while the store is busy, and returns the reply with the expected status.
func (b *Bucket) retry(ctx context.Context, status int, send func() (*http.Response, error)) (*http.Response, error) {
	pause := firstPause
	for n := 1; ; n++ {
		res, err := send()
		if err != nil {
			return nil, err
		}
		if res.StatusCode == status {
			return res, nil
		}
		fault := faultOf(res)
		if !fault.Busy() || n == attempts {
			return nil, fault
		}
		wait := pause
		if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
			wait = min(time.Duration(min(s, 3600))*time.Second, maxPause)
		}
		if err := b.o.Wait(ctx, wait); err != nil {
			return nil, err
		}
		pause *= 2
	}
}

// request is a request to the store.
type request struct {
	method, path string
	query        url.Values
	// body has size bytes with the SHA-256 hash in hex; nil means no body.
	body io.Reader
	size int64
	hash string
	// byteRange is the Range header, or empty.
	byteRange string
}

func (b *Bucket) send(ctx context.Context, r request) (*http.Response, error) {
	at := b.base
	at.Path += r.path
	at.RawPath, at.RawQuery = encode(at.Path, true), canonicalQuery(r.query)
	if r.body == nil || r.size == 0 {
		r.body, r.hash = http.NoBody, emptyHash
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), r.body)
	if err != nil {
		return nil, fmt.Errorf("s3: make a request: %w", err)
	}
	req.ContentLength = r.size
	if b.o.KeyID != "" {
		sign(req, b.o.KeyID, b.o.Secret, b.o.Region, r.hash, b.o.Now())
	}
	// Not signed, because proxies may change them.
	req.Header.Set("User-Agent", b.o.UserAgent)
	if r.byteRange != "" {
		req.Header.Set("Range", r.byteRange)
	}
	return b.o.Client.Do(req)
}

// faultOf decodes an error reply and closes it.
func faultOf(res *http.Response) *Error {
	defer func() { _ = res.Body.Close() }()
	e := &Error{Status: res.StatusCode, Region: res.Header.Get("X-Amz-Bucket-Region")}
	var told struct {
		XMLName xml.Name `xml:"Error"`
		Code    string   `xml:"Code"`
		Region  string   `xml:"Region"`
	}
	if xml.NewDecoder(io.LimitReader(res.Body, maxFault)).Decode(&told) == nil {
		e.Code = told.Code
		if e.Region == "" {
			e.Region = told.Region
		}
	}
	return e
}
