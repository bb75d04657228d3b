package app

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	"carrel/internal/blob"
	"carrel/internal/config"
	"carrel/internal/s3"
)

// originalsFolder is the folder of original files in the data folder.
const originalsFolder = "originals"

// newOriginals returns the storage of original files. The bucket is named by the operator, so that its address may be
// private.
func (in *App) newOriginals(o config.Originals) (*blob.Service, error) {
	d := blob.Deps{
		Storage: blob.NewFolder(filepath.Join(in.Config.Data, originalsFolder)), Store: in.Store, Clock: in.Clock,
	}
	if o.Bucket != "" {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		in.closers = append(in.closers, transport.CloseIdleConnections)
		bucket, err := s3.Open(s3.Options{
			Client: &http.Client{
				Transport:     transport,
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			},
			Bucket: o.Bucket, Endpoint: o.Endpoint, Region: o.Region, KeyID: o.AccessKeyID, Secret: o.SecretAccessKey,
			Now: in.Clock.Now, Wait: wait, UserAgent: "Carrel",
		})
		if err != nil {
			return nil, err
		}
		d.Storage = blob.NewBucket(bucket, o.Prefix)
	}
	return blob.NewService(d, o.Keep), nil
}

// wait waits for d or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
