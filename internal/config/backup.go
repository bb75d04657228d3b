package config

import (
	"errors"
	"path/filepath"
	"strings"
	"time"
)

// Backup are the settings of backups.
type Backup struct {
	// Place is a folder or s3://bucket/prefix. Empty means that no backups are scheduled.
	Place string
	// Every is the interval of scheduled backups, and Keep the number of backups that they keep.
	Every time.Duration
	Keep  int
	// The other settings belong to a bucket.
	Endpoint, Region             string
	AccessKeyID, SecretAccessKey string
}

// s3Scheme begins the address of a bucket.
const s3Scheme = "s3://"

// Bucket returns the bucket of a place and the prefix of its keys, which is empty or ends in a slash.
func (b Backup) Bucket() (bucket, prefix string, isBucket bool) {
	rest, isBucket := strings.CutPrefix(b.Place, s3Scheme)
	bucket, prefix, _ = strings.Cut(rest, "/")
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket, prefix, isBucket
}

// At returns the settings with another place, or an error that says what a place must be.
func (b Backup) At(place string) (Backup, error) {
	if !strings.HasPrefix(place, s3Scheme) {
		absolute, err := filepath.Abs(place)
		if err != nil {
			return b, err
		}
		place = absolute
	}
	b.Place = place
	if err := checkBackupPlace(place); err != nil {
		return b, err
	}
	if probs := b.problems(); len(probs) > 0 {
		return b, probs
	}
	return b, nil
}

func checkBackupPlace(s string) error {
	bucket, prefix, isBucket := Backup{Place: s}.Bucket()
	switch {
	case s == "" || !isBucket && filepath.IsAbs(s):
		return nil
	case !isBucket:
		return errors.New("must be the absolute path of a folder, or s3://bucket/prefix")
	case !bucketName.MatchString(bucket) || checkKeyPrefix(prefix) != nil:
		return errors.New("must have the form s3://bucket/prefix, with letters, digits, dots, hyphens and slashes")
	}
	return nil
}

// problems returns settings that contradict each other.
func (b Backup) problems() Problems {
	var probs Problems
	if _, _, isBucket := b.Bucket(); isBucket && (b.AccessKeyID == "" || b.SecretAccessKey == "") {
		probs.add("backups in a bucket need backup-access-key-id and backup-secret-access-key")
	}
	return probs
}

// backupInterval is the interval of scheduled backups.
type backupInterval time.Duration

func (v *backupInterval) String() string { return time.Duration(*v).String() }

func (v *backupInterval) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Minute || d > 7*24*time.Hour {
		return errors.New("must be a duration from 1m to 168h, such as 24h")
	}
	*v = backupInterval(d)
	return nil
}
