package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/testkit"
)

// dropper sends files as the web app does: three at a time, a small file with the request that creates its upload, and
// all senders pause as long as a refusal asks. A slow machine is refused nothing.
type dropper struct {
	*installation
	uploads string

	lock sync.Mutex
	// until is the end of the pause.
	until   time.Time
	refused int
	ids     []string
}

// send carries out a request until it is not refused by the rate limit.
func (d *dropper) send(ctx context.Context, c call) (status int, body []byte, header http.Header, err error) {
	for {
		d.lock.Lock()
		pause := time.Until(d.until)
		d.lock.Unlock()
		time.Sleep(pause)
		status, body, header, err = d.exchange(ctx, c)
		if err != nil || status != http.StatusTooManyRequests {
			return status, body, header, err
		}
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			return status, body, header, fmt.Errorf("Retry-After is %q", header.Get("Retry-After"))
		}
		d.lock.Lock()
		d.refused++
		if end := time.Now().Add(time.Duration(seconds) * time.Second); end.After(d.until) {
			d.until = end
		}
		d.lock.Unlock()
	}
}

// drop sends one file and keeps the id of its upload.
func (d *dropper) drop(ctx context.Context, name, content string) error {
	create := call{method: "POST", path: d.uploads, body: content, key: d.key}.
		with("Upload-Length", strconv.Itoa(len(content))).
		with("Upload-Metadata", "filename "+base64.StdEncoding.EncodeToString([]byte(name))).
		with("Idempotency-Key", name).
		with("Content-Type", "application/offset+octet-stream")
	status, body, header, err := d.send(ctx, create)
	if err != nil || status != http.StatusCreated || header.Get("Upload-Offset") != strconv.Itoa(len(content)) {
		return fmt.Errorf("%s: status %d, %s, %w", name, status, body, err)
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.ids = append(d.ids, path.Base(header.Get("Location")))
	return nil
}

// results waits until the uploads are imported and counts their outcomes.
func (d *dropper) results(t *testing.T, ids []string) map[string]int {
	t.Helper()
	for {
		status, body, _, err := d.send(t.Context(), call{
			method: "GET", path: d.uploads + "?ids=" + strings.Join(ids, ","), key: d.key,
		})
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %s, %v", status, body, err)
		}
		outcomes := map[string]int{}
		for _, u := range decoded(t, body).at("uploads").([]any) {
			outcome, _ := u.(map[string]any)["outcome"].(string)
			outcomes[outcome]++
		}
		if outcomes[""] == 0 {
			return outcomes
		}
		time.Sleep(time.Second)
	}
}

func TestManyFilesArriveThroughTheDefaultRateLimits(t *testing.T) {
	t.Parallel()
	const files, senders, perRequest = 2000, 3, 100
	d := &dropper{installation: newLimitedLibrary(t, testkit.ServerOptions{})}
	source := d.do(t, "POST", d.below("/sources"), `{"name": "Drop"}`).text("source", "id")
	d.uploads = d.below("/sources/" + source + "/uploads")
	names := make(chan int)
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for i := range names {
				if err := d.drop(t.Context(), fmt.Sprintf("folder/%d.txt", i), fmt.Sprint("The text of file ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	started := time.Now()
	for i := range files {
		names <- i
	}
	close(names)
	all.Wait()
	t.Logf("%d files sent in %v, %d requests refused", len(d.ids), time.Since(started).Round(time.Second), d.refused)
	if t.Failed() || len(d.ids) != files {
		t.Fatalf("%d files, %d refusals", len(d.ids), d.refused)
	}
	added := 0
	for i := 0; i < files; i += perRequest {
		added += d.results(t, d.ids[i:i+perRequest])["added"]
	}
	if added != files {
		t.Errorf("%d files were added", added)
	}
	_, body, _, err := d.send(t.Context(), call{method: "GET", path: d.below("/sources/" + source), key: d.key})
	if err != nil || decoded(t, body).at("source", "documents") != float64(files) {
		t.Errorf("%s, %v", body, err)
	}
	// The same request again finds its upload and stores nothing twice.
	if err := d.drop(t.Context(), "folder/7.txt", "The text of file 7"); err != nil {
		t.Error(err)
	}
	if again := d.ids[len(d.ids)-1]; d.results(t, []string{again})["added"] != 1 {
		t.Errorf("a repeated request has another upload: %s", again)
	}
}
