package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// originList is a list of origins, or "*".
type originList []string

func (v *originList) String() string { return strings.Join(*v, ",") }

func (v *originList) Set(s string) error {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.ToLower(strings.TrimSpace(part)); part == "" {
			continue
		}
		if part != "*" {
			u, err := url.Parse(part)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != part {
				return errors.New("must be * or origins, separated by commas, such as https://app.example.org; no paths")
			}
		}
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	*v = out
	return nil
}
