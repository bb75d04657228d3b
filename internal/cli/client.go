package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"carrel/client"
)

// agentClient calls the REST API of a server for one agent.
type agentClient struct {
	*client.Client
	agent string
}

// rejectsFile reports whether the server rejected the file itself, so that a retry would fail again.
func rejectsFile(err error) (*client.Error, bool) {
	e, ok := errors.AsType[*client.Error](err)
	return e, ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge ||
		e.Status == http.StatusUnsupportedMediaType)
}

// files returns the files of a source.
func (c *agentClient) files(ctx context.Context, sourceID string) ([]client.SourceFile, error) {
	return collect(0, c.ListFilesAll(ctx, c.agent, sourceID, client.ListFilesParams{Limit: 200}))
}

// upload sends a file under a name and returns the name that the server stored. Begin is called before each attempt,
// and progress with the number of bytes of each read.
func (c *agentClient) upload(
	ctx context.Context, sourceID, path, name string, begin func(), progress func(n int),
) (stored string, err error) {
	reply, err := c.UploadFile(ctx, c.agent, sourceID, name, func() (io.ReadCloser, error) {
		begin()
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		return countingReader{f, progress}, nil
	})
	if err != nil || len(reply.Uploads) == 0 {
		return "", err
	}
	return reply.Uploads[0].Name, nil
}

// countingReader reports the size of each read.
type countingReader struct {
	io.ReadCloser
	progress func(n int)
}

// Read implements io.Reader.
func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.progress(n)
	return n, err
}
