package config

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"carrel/internal/lazyregexp"
)

// Originals are the settings for the original files of documents.
type Originals struct {
	// Keep stores the files of new documents.
	Keep bool
	// Bucket is an S3 bucket; empty means a folder in the data folder. The other settings belong to the bucket.
	Bucket, Endpoint, Region, Prefix string
	AccessKeyID, SecretAccessKey     string
}

var (
	bucketName = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = lazyregexp.New(`^[a-z0-9-]{1,40}$`)
	keyPrefix  = lazyregexp.New(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?$`)
)

func checkBucket(s string) error {
	if s != "" && !bucketName.MatchString(s) {
		return errors.New("must be the name of a bucket, 3 to 63 lower case letters, digits, dots and hyphens")
	}
	return nil
}

// checkAbsolute accepts the absolute path of a folder, which may be mounted later.
func checkAbsolute(s string) error {
	if s != "" && !filepath.IsAbs(s) {
		return errors.New("must be the absolute path of a folder")
	}
	return nil
}

func checkRegion(s string) error {
	if !regionName.MatchString(s) {
		return errors.New("must be a region, such as eu-central-1")
	}
	return nil
}

func checkKeyPrefix(s string) error {
	if s != "" && !keyPrefix.MatchString(s) || strings.Contains(s, "..") {
		return errors.New("must consist of letters, digits, dots, hyphens and slashes, such as carrel/")
	}
	return nil
}

func checkEndpoint(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.Path != "" || strings.ContainsAny(s, "?#") {
		return errors.New("must be an http or https URL without a path, such as https://minio.example.org")
	}
	return nil
}

// problems returns settings that contradict each other.
func (o Originals) problems() Problems {
	var probs Problems
	if o.Bucket != "" && (o.AccessKeyID == "" || o.SecretAccessKey == "") {
		probs.add("originals-bucket needs originals-access-key-id and originals-secret-access-key")
	}
	return probs
}

// warnings returns settings without effect.
func (o Originals) warnings() []string {
	if o.Bucket == "" && (o.Endpoint != "" || o.Prefix != "" || o.AccessKeyID != "" || o.SecretAccessKey != "") {
		return []string{"the settings originals-… of a bucket have no effect without originals-bucket"}
	}
	return nil
}
