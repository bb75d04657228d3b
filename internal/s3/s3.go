// Package s3 reads buckets of Amazon S3 and of whatever speaks its protocol: it lists objects and gets them, and nothing
// else. The public libraries for it bring more code than all of our other readers together; what is needed here is one
// signature (sign.go), one listing and one download.
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
	// DefaultRegion is the one of buckets that do not say theirs; stores of one's own mostly accept it.
	DefaultRegion = "us-east-1"
	// maxPages bounds a listing that never ends: a page has up to a thousand objects.
	maxPages = 1000
	// maxPage and maxFault bound what is read of a listing and of an error, in bytes.
	maxPage  = 16 << 20
	maxFault = 64 << 10
	// pageTime and objectTime bound one request, its answer included.
	pageTime   = time.Minute
	objectTime = 15 * time.Minute
)

// ErrEndless is a listing of more objects than are read.
var ErrEndless = errors.New("s3: the listing has no end")

// Options say where a bucket is and who asks.
type Options struct {
	// Client makes the requests. It must not follow redirects: a signature holds for one address.
	Client *http.Client
	Bucket string
	// Endpoint is the address of a store of one's own; empty is Amazon's for the region.
	Endpoint string
	// Region is DefaultRegion when empty.
	Region string
	// KeyID and Secret sign the requests; without them only public buckets answer.
	KeyID, Secret string
	// Now is the time that requests are signed for.
	Now func() time.Time
	// Wait returns when so much time has passed or the context has ended.
	Wait func(context.Context, time.Duration) error
	// UserAgent names the program that asks.
	UserAgent string
}

// Bucket is a bucket that can be read. It may be used from many goroutines.
type Bucket struct {
	o Options
	// base is the address of the bucket, without a slash at its end.
	base url.URL
}

// Open returns a bucket. Nothing is asked of it yet.
func Open(o Options) (*Bucket, error) {
	if o.Region == "" {
		o.Region = DefaultRegion
	}
	b := &Bucket{o: o}
	switch {
	case o.Endpoint != "":
		// Stores of one's own rarely have a name in the DNS for each bucket.
		at, err := url.Parse(o.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("s3: read the endpoint: %w", err)
		}
		b.base = url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/" + o.Bucket}
	case strings.Contains(o.Bucket, "."):
		// The certificate of *.s3.amazonaws.com does not cover a dot.
		b.base = url.URL{Scheme: "https", Host: amazon(o.Region), Path: "/" + o.Bucket}
	default:
		b.base = url.URL{Scheme: "https", Host: o.Bucket + "." + amazon(o.Region)}
	}
	return b, nil
}

// amazon is the host of a region; China has a domain of its own.
func amazon(region string) string {
	host := "s3." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return host
}

// Object is an object as the store tells of it.
type Object struct {
	Key string
	// ETag changes with the content; empty where the store has none.
	ETag     string
	Size     int64
	Modified time.Time
}

// page is an answer to ListObjectsV2.
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

// List gives the objects whose keys begin with a prefix, page after page. An error is the last thing it gives.
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
	// Keys may hold characters that XML can't; encoded they can all be told.
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

// readPage reads the page of a listing that was asked for with a token.
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

// Get opens an object as it is now, which need not be what was listed; its size is -1 when the store does not say it.
// Who calls closes it. A body that ends early fails with its last read.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	res, err := b.ask(ctx, "/"+key, nil) //nolint:bodyclose // who calls closes it
	if err != nil {
		cancel()
		return nil, Object{}, err
	}
	o := Object{Key: key, ETag: res.Header.Get("ETag"), Size: res.ContentLength}
	o.Modified, _ = http.ParseTime(res.Header.Get("Last-Modified")) // the zero time says that it is not known
	return &body{res.Body, cancel}, o, nil
}

// body ends the time of its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// Error is an answer that is not what was asked for.
type Error struct {
	Status int
	// Code is the store's word for it, such as NoSuchBucket; empty where it gave none.
	Code string
	// Region is where the store says that the bucket is, when it was looked for elsewhere.
	Region string
}

// Error names the status and the code.
func (e *Error) Error() string {
	return "s3: the store answers with status " + strconv.Itoa(e.Status) + " " + e.Code
}

// Busy reports whether the store asks to be left alone for a while, or is out of order.
func (e *Error) Busy() bool { return e.Status == http.StatusTooManyRequests || e.Status >= 500 }

// attempts is how often a busy store is asked, and firstPause how long it is left alone before the second time; it
// doubles with each. AWS asks for exactly this on 503 SlowDown.
const (
	attempts   = 5
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
)

// ask sends a request below the bucket until a store that is busy answers, or has been asked often enough.
func (b *Bucket) ask(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	pause := firstPause
	for n := 1; ; n++ {
		res, err := b.send(ctx, path, query)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK {
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

func (b *Bucket) send(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	at := b.base
	at.Path += path
	at.RawPath, at.RawQuery = encode(at.Path, true), canonicalQuery(query)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("s3: make a request: %w", err)
	}
	if b.o.KeyID != "" {
		sign(req, b.o.KeyID, b.o.Secret, b.o.Region, b.o.Now())
	}
	req.Header.Set("User-Agent", b.o.UserAgent) // not signed: what is between may change it
	return b.o.Client.Do(req)
}

// faultOf reads what a store says is wrong, and closes its answer.
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
