package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// apiClient calls the REST API of a server for one agent.
type apiClient struct {
	server, key, agent string
	client             *http.Client
}

// responseError is an error response of the server.
type responseError struct {
	status     int
	detail     string
	retryAfter time.Duration
}

// Error returns the detail of the problem.
func (r *responseError) Error() string { return r.detail }

// rejectsFile reports whether the server rejected the file itself, so that a retry would fail again.
func (r *responseError) rejectsFile() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge ||
		r.status == http.StatusUnsupportedMediaType
}

// maxResponse limits the size of a response.
const maxResponse = 1 << 20

// sourcePath returns the path of a source below the agent.
func sourcePath(sourceID, rest string) string { return "/sources/" + url.PathEscape(sourceID) + rest }

// call sends a request about the agent and decodes the reply into out unless it is nil.
func (c *apiClient) call(ctx context.Context, method, path, contentType string, body io.Reader, out any) error {
	address := strings.TrimSuffix(c.server, "/") + "/api/agents/" + url.PathEscape(c.agent) + path
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return problemOf(res, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// problemOf returns the error of a problem response.
func problemOf(res *http.Response, answer []byte) error {
	var problem struct{ Detail string }
	if json.Unmarshal(bytes.TrimSpace(answer), &problem) != nil || problem.Detail == "" {
		problem.Detail = "the server replied with status " + res.Status
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // without the header, 0
	return &responseError{
		status: res.StatusCode, detail: problem.Detail, retryAfter: time.Duration(seconds) * time.Second,
	}
}

// files returns the files of a source.
func (c *apiClient) files(ctx context.Context, sourceID string) ([]remoteFile, error) {
	var out []remoteFile
	for cursor := ""; ; {
		var list struct {
			Files      []remoteFile
			NextCursor string
		}
		path := sourcePath(sourceID, "/files?limit=200&cursor="+url.QueryEscape(cursor))
		if err := c.call(ctx, http.MethodGet, path, "", nil, &list); err != nil {
			return nil, err
		}
		out = append(out, list.Files...)
		if cursor = list.NextCursor; cursor == "" {
			return out, nil
		}
	}
}

// remoteFile is a file of a source on the server.
type remoteFile struct {
	ID, Name, Outcome, Error string
	Documents, Skipped       int
	UpdatedAt                string
}

// upload sends a file under a name and returns the name that the server stored. Progress is called with the number of
// bytes of each read.
func (c *apiClient) upload(
	ctx context.Context, sourceID, path, name string, progress func(n int),
) (stored string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	// A pipe streams the body, because a file may be larger than the memory.
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, countingReader{f, progress})
		}
		_ = pipe.CloseWithError(errors.Join(err, form.Close())) // always nil
	}()
	var reply struct{ Uploads []struct{ Name string } }
	err = c.call(ctx, http.MethodPost, sourcePath(sourceID, "/files"), form.FormDataContentType(), body, &reply)
	_ = body.Close() // ends the goroutine even if the body was not read
	if err != nil || len(reply.Uploads) == 0 {
		return "", err
	}
	return reply.Uploads[0].Name, nil
}

// countingReader reports the size of each read.
type countingReader struct {
	io.Reader
	progress func(n int)
}

// Read implements io.Reader.
func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.progress(n)
	return n, err
}
