package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/s3"
	"carrel/internal/source"
)

// bucketQueue holds the objects of an S3 bucket that are new or changed. Each is downloaded when it is imported.
type bucketQueue struct {
	syncQueue
	bucket *s3.Bucket
	dir    string
}

// newBucketQueue compares a bucket with the stored files. An incomplete listing is an error, so that nothing is
// deleted because of it.
func (s *Service) newBucketQueue(ctx context.Context, src source.Source, set source.Settings) (fileQueue, error) {
	secret, err := s.sources.Secret(src)
	if errors.Is(err, source.ErrSecretUnreadable) {
		return nil, errBucket("The secret can't be used with this store and access key. " +
			"Enter the secret again in the settings of the source.").Because(err)
	}
	if err != nil {
		return nil, err
	}
	bucket, err := s3.Open(s3.Options{
		Client: s.options.Client, Bucket: set.Bucket, Endpoint: set.Endpoint, Region: set.Region,
		KeyID: set.AccessKeyID, Secret: secret,
		Now: s.clock.Now, Wait: pause, UserAgent: userAgent,
	})
	if err != nil {
		return nil, err
	}
	known, err := s.filesByName(ctx, src.ID)
	if err != nil {
		return nil, err
	}
	o := &bucketQueue{syncQueue: syncQueue{service: s, src: src}, bucket: bucket}
	for object, err := range bucket.List(ctx, set.Prefix) {
		if err != nil {
			return nil, bucketError(ctx, err)
		}
		f := localFile{name: object.Key, size: object.Size, version: objectVersion(object)}
		reason := nameRefusal(f.name)
		if reason != "" && (strings.HasSuffix(f.name, "/") || strings.HasPrefix(path.Base(f.name), ".")) {
			continue // a folder or a hidden file
		}
		o.listed(known, f, reason)
	}
	for _, f := range known {
		o.missing = append(o.missing, f)
	}
	if o.dir, err = os.MkdirTemp(s.options.Scratch, "carrel-bucket-"); err != nil {
		return nil, fmt.Errorf("create a folder for objects: %w", err)
	}
	o.cleanup = func() { _ = os.RemoveAll(o.dir) } // the system cleans its temporary folder
	return o, nil
}

// pause waits for d or until the import ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// objectVersion returns the ETag, or the modification time if the store sends no ETag.
func objectVersion(o s3.Object) string {
	switch {
	case o.ETag != "" && len(o.ETag) < 200:
		return "etag " + o.ETag
	case !o.Modified.IsZero():
		return "date " + o.Modified.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

func (o *bucketQueue) next(ctx context.Context, t *reporter) (fileResult, error) {
	if len(o.missing) > 0 || len(o.changed) == 0 || o.changed[0].refused != "" {
		return o.syncQueue.next(ctx, t)
	}
	out, err := o.importObject(ctx, o.changed[0], t)
	if err == nil {
		o.changed = o.changed[1:]
	}
	return out, err
}

// importObject downloads an object and imports it. An object deleted since the listing is deleted here as well; one
// that the store refuses is reported and keeps its documents; a busy store ends the import, and the next one resumes.
func (o *bucketQueue) importObject(ctx context.Context, f localFile, t *reporter) (fileResult, error) {
	s := o.service
	out := fileResult{Name: f.name, Size: f.size}
	old, err := s.store.FileByName(ctx, o.src.ID, f.name)
	if err != nil && !core.IsKind(err, core.KindNotFound) {
		return out, err
	}
	reason, err := s.objectTooLarge(f.size), error(nil)
	if reason == "" {
		reason, err = o.save(ctx, &f)
	}
	fault, refused := errors.AsType[*s3.Error](err)
	switch {
	case refused && fault.Status == http.StatusNotFound:
		if out.Removed = old.ID != ""; out.Removed {
			out.Documents.Deleted, err = s.store.DeleteFile(ctx, o.src.ID, old.ID, s.clock.Now())
			return out, err
		}
		out.Unchanged = true // it was created and deleted between two imports
		return out, nil
	case refused && !fault.Busy():
		reason = fmt.Sprintf("The store refuses the object with status %d.", fault.Status)
	case err != nil:
		return out, err
	}
	if reason != "" {
		out.Error = reason
		return out, s.recordFailure(ctx, o.src, old, out, "")
	}
	defer func() { _ = os.Remove(f.path) }()
	return s.importFile(ctx, o.src, f, t)
}

func (s *Service) objectTooLarge(size int64) string {
	if size <= s.options.MaxUpload {
		return ""
	}
	return fmt.Sprintf("The object is larger than %d MiB.", s.options.MaxUpload>>20)
}

// save downloads an object to disk and updates its version, which may differ from the listing. The reason is set when
// this object alone can't be read.
func (o *bucketQueue) save(ctx context.Context, f *localFile) (reason string, err error) {
	body, object, err := o.bucket.Get(ctx, f.name)
	if err != nil {
		return "", bucketError(ctx, err)
	}
	defer func() { _ = body.Close() }() // opened for reading only
	f.path = scratchPath(o.dir, f.name)
	out, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	n, err := io.Copy(out, io.LimitReader(body, o.service.options.MaxUpload+1))
	closed := out.Close()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case closed != nil:
		return "", closed
	case err != nil:
		return "The download ended early.", nil
	}
	f.size, f.version = n, objectVersion(object)
	return o.service.objectTooLarge(n), nil
}

// errBucket ends an import; the documents of the source are kept.
func errBucket(detail string) *core.Error { return core.Conflict("bucket_unreadable", detail) }

// bucketAdvice maps S3 error codes to what the user can do.
var bucketAdvice = map[string]string{
	"NoSuchBucket":          "There is no such bucket in this store. Check its name, region and endpoint.",
	"InvalidAccessKeyId":    "The store does not know this access key. Check settings.accessKeyId.",
	"SignatureDoesNotMatch": "The secret does not belong to this access key. Set the secret again.",
	"AccessDenied":          "The access key needs s3:ListBucket and s3:GetObject for this bucket.",
	"RequestTimeTooSkewed":  "The clock of this server is wrong, so the store rejects its signatures.",
}

// bucketError describes why a bucket can't be read, without quoting the store.
func bucketError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fault, refused := errors.AsType[*s3.Error](err)
	switch {
	case errors.Is(err, s3.ErrEndless):
		return errBucket(
			"The bucket has more than a million objects. Set settings.prefix to import a part of it.",
		).Because(err)
	case !refused:
		return errBucket(
			"The store can't be read: " + fetchErrorText(err) + ". Check the endpoint and the region.",
		).Because(err)
	case fault.Busy():
		return errBucket("The store is busy. The imported objects are kept, and the next import resumes.").Because(err)
	case source.IsRegion(fault.Region) && bucketAdvice[fault.Code] == "":
		return errBucket("The bucket is in another region: set settings.region to " + fault.Region + ".").Because(err)
	case bucketAdvice[fault.Code] != "":
		return errBucket(bucketAdvice[fault.Code]).Because(err)
	}
	return errBucket(
		fmt.Sprintf("The store answers with status %d. Check the bucket, the region and the access key.", fault.Status),
	).Because(err)
}
