package client

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
)

// UploadFile uploads a file to a source under a name. Open is called once for each attempt, because a busy server
// refuses a request after it has read a part of the body.
func (c *Client) UploadFile(
	ctx context.Context, agentID, sourceID, name string, open func() (io.ReadCloser, error),
) (*UploadResults, error) {
	// The boundary is the same in all attempts, because it is part of the content type.
	boundary := multipart.NewWriter(io.Discard).Boundary()
	var failed error
	reply, err := call[UploadResults](ctx, c, request{
		method:  http.MethodPost,
		path:    "/api/agents/" + url.PathEscape(agentID) + "/sources/" + url.PathEscape(sourceID) + "/files",
		rawType: "multipart/form-data; boundary=" + boundary,
		raw: func() io.ReadCloser {
			file, err := open()
			if err != nil {
				failed = err
				return io.NopCloser(failingReader{err})
			}
			return formBody(file, name, boundary)
		},
	})
	if failed != nil {
		return nil, failed
	}
	return reply, err
}

// failingReader fails the request of a file that can't be opened.
type failingReader struct{ err error }

// Read implements io.Reader.
func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// formBody streams a file as a form, because it may be larger than the memory. It closes the file.
func formBody(file io.ReadCloser, name, boundary string) io.ReadCloser {
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	_ = form.SetBoundary(boundary) // a boundary of the same package is valid
	go func() {
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = io.Copy(part, file)
		}
		_ = pipe.CloseWithError(errors.Join(err, form.Close(), file.Close())) // always nil
	}()
	return body
}
