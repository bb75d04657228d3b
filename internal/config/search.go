package config

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// Search are the settings of an OpenSearch cluster that replaces the index in the data folder.
type Search struct {
	// URLs are the addresses of the cluster; none means the index in the data folder. The other settings belong to it.
	URLs []string
	// User and Password authenticate requests; an empty user sends none.
	User, Password string
	// CAFile is a PEM file with the certificates that sign those of the cluster; empty means the system's.
	CAFile string
	// Shards and Replicas are those of new indices.
	Shards, Replicas int
}

// OpenSearch reports whether documents are searched in an OpenSearch cluster.
func (s Search) OpenSearch() bool { return len(s.URLs) > 0 }

// clusterURLs is a list of addresses of one cluster.
type clusterURLs []string

func (v *clusterURLs) String() string { return strings.Join(*v, ",") }

func (v *clusterURLs) Set(s string) error {
	*v = nil
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "/")
		if part == "" {
			continue
		}
		u, err := url.Parse(part)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(part, "?#"):
			return errors.New("must be http or https URLs, separated by commas, such as https://search.example.org:9200")
		case u.User != nil:
			return errors.New("must not contain a user name or password; use search-user and search-password")
		}
		*v = append(*v, part)
	}
	return nil
}

func checkSearchUser(s string) error {
	if strings.Contains(s, ":") || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must be a user name without colons")
	}
	return nil
}

func checkSearchPassword(s string) error {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must not contain control characters")
	}
	return nil
}

// problems returns settings that contradict each other.
func (s Search) problems() Problems {
	var probs Problems
	if s.OpenSearch() && (s.User == "") != (s.Password == "") {
		probs.add("search-user and search-password go together; set both or neither")
	}
	return probs
}

// warnings returns likely mistakes.
func (s Search) warnings() []string {
	if !s.OpenSearch() {
		if s.User != "" || s.Password != "" || s.CAFile != "" {
			return []string{"the settings search-… of an OpenSearch cluster have no effect without search-url"}
		}
		return nil
	}
	for _, address := range s.URLs {
		u, err := url.Parse(address)
		if err == nil && u.Scheme == "http" && !loopback(u.Hostname()+":0") && !loopback("["+u.Hostname()+"]:0") {
			return []string{"search-url is plain http to another machine: documents are not encrypted; use https"}
		}
	}
	return nil
}
