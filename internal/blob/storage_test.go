package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/blob"
	"carrel/internal/s3"
	"carrel/internal/testkit"
	"carrel/internal/testkit/s3fake"
)

func keyOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestStorages runs the same steps against every kind of storage.
func TestStorages(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) blob.Storage{
		"folder": func(t *testing.T) blob.Storage {
			t.Helper()
			return blob.NewFolder(filepath.Join(t.TempDir(), "originals"))
		},
		"fake": func(t *testing.T) blob.Storage {
			t.Helper()
			return bucketAt(t, s3fake.New(t, 10).URL, s3fake.Bucket, s3fake.Region, s3fake.KeyID, s3fake.Secret)
		},
		"versitygw": func(t *testing.T) blob.Storage {
			t.Helper()
			server := testkit.S3(t)
			return bucketAt(t, server.URL, server.Bucket, server.Region, server.KeyID, server.Secret)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkStorage(t, open(t))
		})
	}
}

func checkStorage(t *testing.T, s blob.Storage) {
	t.Helper()
	ctx := t.Context()
	for _, content := range []string{"", "The content of a file.", string(bytes.Repeat([]byte("0123456789"), 300_000))} {
		key, size := keyOf(content), int64(len(content))
		if _, err := s.Open(ctx, key, size); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("a missing file of %d bytes: %v", size, err)
		}
		for range 2 { // storing it twice is fine
			if err := s.Put(ctx, key, bytes.NewReader([]byte(content)), size); err != nil {
				t.Fatal(err)
			}
		}
		f, err := s.Open(ctx, key, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, size / 2, size} {
			if end, err := f.Seek(0, io.SeekEnd); err != nil || end != size {
				t.Errorf("the end is at %d (%v)", end, err)
			}
			if _, err := f.Seek(from, io.SeekStart); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(f); err != nil || string(got) != content[from:] {
				t.Errorf("%d bytes from %d (%v), want %d", len(got), from, err, size-from)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := s.Delete(ctx, key); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Open(ctx, key, size); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a deleted file: %v", err)
		}
	}
	if err := s.Put(ctx, keyOf("one"), bytes.NewReader([]byte("two")), 3); err == nil {
		t.Error("content under a wrong key was stored")
	}
	if _, err := s.Open(ctx, keyOf("one"), 3); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused file: %v", err)
	}
	for _, key := range []string{"", "../../etc/passwd", keyOf("one")[:63] + "G"} {
		_, err := s.Open(ctx, key, 1)
		if err == nil || s.Put(ctx, key, bytes.NewReader(nil), 0) == nil || s.Delete(ctx, key) == nil {
			t.Errorf("the key %q was accepted", key)
		}
	}
}

func bucketAt(t *testing.T, endpoint, bucket, region, keyID, secret string) blob.Storage {
	t.Helper()
	b, err := s3.Open(s3.Options{
		Client: &http.Client{}, Bucket: bucket, Endpoint: endpoint, Region: region, KeyID: keyID, Secret: secret,
		Now: time.Now, Wait: func(context.Context, time.Duration) error { return nil }, UserAgent: "Test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return blob.NewBucket(b, "originals/")
}
