package s3

import (
	"context"
	"io"
	"net/http"
	"strconv"
)

// Put stores an object, replacing one with the same key. The hash is the SHA-256 of the content in hex, which the store
// verifies. The content is read from its start on every attempt.
func (b *Bucket) Put(ctx context.Context, key string, content io.ReadSeeker, size int64, hash string) error {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	res, err := b.retry(ctx, http.StatusOK, func() (*http.Response, error) {
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		// The transport closes a body that has a Close method.
		return b.send(ctx, request{
			method: http.MethodPut, path: "/" + key, hash: hash, body: io.LimitReader(content, size), size: size,
		})
	})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Delete deletes an object. Deleting a missing object is not an error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	res, err := b.retry(ctx, http.StatusNoContent, func() (*http.Response, error) {
		return b.send(ctx, request{method: http.MethodDelete, path: "/" + key})
	})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Exists reports whether there is an object with this key and size.
func (b *Bucket) Exists(ctx context.Context, key string, size int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	res, err := b.retry(ctx, http.StatusOK, func() (*http.Response, error) {
		return b.send(ctx, request{method: http.MethodHead, path: "/" + key})
	})
	if IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return res.ContentLength == size, res.Body.Close()
}

// GetFrom opens an object at an offset, which must be below its size. The caller closes the body.
func (b *Bucket) GetFrom(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, objectTime)
	status, header := http.StatusOK, ""
	if offset > 0 {
		status, header = http.StatusPartialContent, "bytes="+strconv.FormatInt(offset, 10)+"-"
	}
	res, err := b.retry(ctx, status, func() (*http.Response, error) { //nolint:bodyclose // the caller closes it
		return b.send(ctx, request{method: http.MethodGet, path: "/" + key, byteRange: header})
	})
	if err != nil {
		cancel()
		return nil, err
	}
	return &body{res.Body, cancel}, nil
}
