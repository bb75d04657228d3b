package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/s3"
)

// Bucket stores files in an S3 bucket, for installations of several nodes.
type Bucket struct {
	bucket *s3.Bucket
	prefix string
}

// NewBucket returns the storage in a bucket. Object keys are the prefix and the hash.
func NewBucket(b *s3.Bucket, prefix string) *Bucket { return &Bucket{bucket: b, prefix: prefix} }

// Put stores a file unless the bucket has it. The store verifies the hash, which is part of the signature.
func (b *Bucket) Put(ctx context.Context, key string, content io.ReadSeeker, size int64) error {
	if !validKey(key) {
		return invalidKey(key)
	}
	exists, err := b.bucket.Exists(ctx, b.prefix+key, size)
	if err != nil || exists {
		return err
	}
	if err := copyVerified(ctx, io.Discard, content, key); err != nil {
		return err
	}
	return b.bucket.Put(ctx, b.prefix+key, content, size, key)
}

// Open returns a reader that requests the object on its first read.
func (b *Bucket) Open(ctx context.Context, key string, size int64) (io.ReadSeekCloser, error) {
	if !validKey(key) {
		return nil, invalidKey(key)
	}
	exists, err := b.bucket.Exists(ctx, b.prefix+key, size)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fmt.Errorf("blob: %s: %w", key, os.ErrNotExist)
	}
	return &objectReader{ctx: ctx, bucket: b.bucket, key: b.prefix + key, size: size}, nil
}

// Delete deletes a file.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if !validKey(key) {
		return invalidKey(key)
	}
	return b.bucket.Delete(ctx, b.prefix+key)
}

// objectReader reads an object. A seek closes the current request, and the next read sends another.
type objectReader struct {
	ctx      context.Context //nolint:containedctx // the context of the request
	bucket   *s3.Bucket
	key      string
	at, size int64
	body     io.ReadCloser
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if r.body == nil {
		body, err := r.bucket.GetFrom(r.ctx, r.key, r.at)
		if err != nil {
			return 0, err
		}
		r.body = body
	}
	n, err := r.body.Read(p)
	r.at += int64(n)
	if errors.Is(err, io.EOF) && r.at < r.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements io.Seeker.
func (r *objectReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("blob: negative position")
	}
	if offset == r.at {
		return offset, nil
	}
	r.at = offset
	return offset, r.Close()
}

// Close ends the current request.
func (r *objectReader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}
