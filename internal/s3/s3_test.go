package s3_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"carrel/internal/s3"
	"carrel/internal/testkit/s3fake"
)

// world is a fake store and a bucket in it.
type world struct {
	*s3fake.Store
	bucket *s3.Bucket
	// waited are the backoffs so far.
	waited []time.Duration
}

func newWorld(t *testing.T, change func(*s3.Options)) *world {
	t.Helper()
	w := &world{Store: s3fake.New(t, 3)}
	o := s3.Options{
		Client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Bucket: s3fake.Bucket, Endpoint: w.URL, Region: s3fake.Region, KeyID: s3fake.KeyID, Secret: s3fake.Secret,
		Now:       func() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("", 7200)) },
		Wait:      func(_ context.Context, d time.Duration) error { w.waited = append(w.waited, d); return nil },
		UserAgent: "Test",
	}
	if change != nil {
		change(&o)
	}
	var err error
	if w.bucket, err = s3.Open(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) keys(t *testing.T, prefix string) ([]string, error) {
	t.Helper()
	var keys []string
	for o, err := range w.bucket.List(t.Context(), prefix) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, o.Key)
	}
	return keys, nil
}

func TestAListingIsReadPageAfterPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var want []string
	for i := range 8 {
		want = append(want, "in/"+strconv.Itoa(i)+" ü+&.txt")
		w.Put(want[i], "x")
	}
	w.Put("out.txt", "x")
	got, err := w.keys(t, "in/")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q (%v)", got, err)
	}
	if n := len(w.Asked()); n != 3 {
		t.Errorf("%d requests for 8 objects, three a page", n)
	}
	for _, key := range want {
		body, o, err := w.bucket.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil || string(data) != "x" || o.Size != 1 || o.ETag == "" ||
			o.Modified.IsZero() {
			t.Errorf("%s: %q %+v (%v)", key, data, o, err)
		}
	}
}

func TestAStoreThatAsksForPatienceIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.Put("a.txt", "x")
	slow := s3fake.Refuse(http.StatusServiceUnavailable, "SlowDown")
	later := func(res http.ResponseWriter, req *http.Request) {
		res.Header().Set("Retry-After", "7")
		slow(res, req)
	}
	w.Fail(slow, slow, later)
	if got, err := w.keys(t, ""); err != nil || len(got) != 1 {
		t.Errorf("got %q (%v)", got, err)
	}
	if want := []time.Duration{500 * time.Millisecond, time.Second, 7 * time.Second}; !slices.Equal(w.waited, want) {
		t.Errorf("waited %v, want %v", w.waited, want)
	}
	w.Fail(slow, slow, slow, slow, slow)
	_, err := w.keys(t, "")
	fault, is := errors.AsType[*s3.Error](err)
	if !is || !fault.Busy() || fault.Code != "SlowDown" {
		t.Errorf("a store that stays busy: %v", err)
	}
}

func TestWhatTheStoreRefusesIsToldByItsCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		status     int
		change     func(*s3.Options)
	}{
		{"no key", "AccessDenied", 403, func(o *s3.Options) { o.KeyID = "" }},
		{"another key", "InvalidAccessKeyId", 403, func(o *s3.Options) { o.KeyID = "other" }},
		{"another secret", "SignatureDoesNotMatch", 403, func(o *s3.Options) { o.Secret = "other" }},
		{"another bucket", "NoSuchBucket", 404, func(o *s3.Options) { o.Bucket = "other" }},
		{"another region", "AuthorizationHeaderMalformed", 400, func(o *s3.Options) { o.Region = "" }},
	} {
		w := newWorld(t, c.change)
		_, err := w.keys(t, "")
		fault, is := errors.AsType[*s3.Error](err)
		if !is || fault.Status != c.status || fault.Code != c.code || fault.Busy() || len(w.waited) > 0 {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name == "another region" && (fault == nil || fault.Region != s3fake.Region) {
			t.Errorf("the right region is not told: %+v", fault)
		}
	}
}

func TestTruncatedOrEndlessListingsAreErrors(t *testing.T) {
	t.Parallel()
	const again = `<ListBucketResult><IsTruncated>true</IsTruncated>` +
		`<NextContinuationToken>x</NextContinuationToken></ListBucketResult>`
	says := func(answer string) s3fake.Fault {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }
	}
	for name, faults := range map[string][]s3fake.Fault{
		"cut off":             {s3fake.Truncate},
		"the same page again": {says(again), says(again)},
		"no token":            {says(strings.ReplaceAll(again, "x", ""))},
		"no listing":          {says("<html/>")},
		"an entity bomb": {says(
			`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` +
				`<ListBucketResult><Contents><Key>&b;</Key></Contents></ListBucketResult>`,
		)},
		"a key that is none": {says(
			`<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></ListBucketResult>`,
		)},
	} {
		w := newWorld(t, nil)
		w.Fail(faults...)
		if got, err := w.keys(t, ""); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	w := newWorld(t, nil)
	w.Fail(s3fake.Truncate)
	body, _, err := w.bucket.Get(t.Context(), "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(body); err == nil {
		t.Error("an object that is cut off is read as if it were whole")
	}
	_ = body.Close()
}
