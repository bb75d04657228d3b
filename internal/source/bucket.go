package source

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"carrel/internal/core"
	"carrel/internal/lazyregexp"
	"carrel/internal/outbound"
)

// Names become parts of addresses, so only the documented characters are allowed:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html.
var (
	bucketName = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)
	keyName    = lazyregexp.New(`^[\w.+=@-]{3,128}$`)
)

// maxPrefix is the maximum length of a key in bytes.
const maxPrefix = 1024

// IsRegion reports whether a text is a valid region name.
func IsRegion(s string) bool { return regionName.MatchString(s) }

func checkBucket(s *Settings, secret string) []core.FieldError {
	s.Bucket = strings.TrimSpace(s.Bucket)
	s.Region = strings.TrimSpace(s.Region)
	s.AccessKeyID = strings.TrimSpace(s.AccessKeyID)
	s.Endpoint = strings.TrimSuffix(strings.TrimSpace(s.Endpoint), "/")
	var bad []core.FieldError
	wrong := func(field, detail string) {
		bad = append(bad, core.FieldError{Pointer: "/settings/" + field, Detail: detail})
	}
	if !bucketName.MatchString(s.Bucket) || strings.Contains(s.Bucket, "..") {
		wrong("bucket", "Must be a bucket name: 3 to 63 lower-case letters, digits, dots and hyphens.")
	}
	if len(s.Prefix) > maxPrefix || !utf8.ValidString(s.Prefix) || core.HasNUL(s.Prefix) {
		wrong("prefix", "Must be at most 1024 bytes of text.")
	}
	if s.Region != "" && !IsRegion(s.Region) {
		wrong("region", "Must be a region name, such as eu-central-1.")
	}
	if s.Endpoint != "" && outbound.CheckAddress(s.Endpoint, endpointAddress) != "" {
		wrong("endpoint",
			"Must be the address of the store without a user name or path, such as https://minio.example.org:9000.")
	}
	if s.AccessKeyID != "" && !keyName.MatchString(s.AccessKeyID) {
		wrong("accessKeyId", "Must be the id of an access key: 3 to 128 letters, digits and . + = @ _ -.")
	}
	switch {
	case s.AccessKeyID != "" && secret == "":
		bad = append(bad, core.FieldError{
			Pointer: "/secret", Detail: "Must be the secret of the access key. A public bucket needs neither.",
		})
	case s.AccessKeyID == "" && secret != "":
		wrong("accessKeyId", "Must be the id of the access key of the secret. A public bucket needs neither.")
	}
	return bad
}

var endpointAddress = outbound.AddressRules{PlainHTTP: true, Private: true, OriginOnly: true, MaxLength: maxAddress}

// defaultRegion is used if the settings have no region; it matches s3.DefaultRegion.
const defaultRegion = "us-east-1"

// s3SecretScope binds the secret of an access key to the store, the bucket and the key id. The region matters for
// Amazon only, where it is part of the host name.
func s3SecretScope(set Settings) string {
	store := "amazon " + cmp.Or(strings.TrimSpace(set.Region), defaultRegion)
	if endpoint := strings.TrimSpace(set.Endpoint); endpoint != "" {
		store = "endpoint " + outbound.Origin(endpoint)
	}
	return store + " " + strings.TrimSpace(set.Bucket) + " " + strings.TrimSpace(set.AccessKeyID)
}
