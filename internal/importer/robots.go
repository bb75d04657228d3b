package importer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// robots knows what the sites of an import ask programs to leave alone (RFC 9309). Each is asked once an import.
type robotsCache struct {
	service *Service
	sites   map[string]robotRules
}

// maxRobots is how much of a robots.txt is read: what RFC 9309 (2.5) asks for at least.
const maxRobots = 500 << 10

var errForbidden = errors.New("robots.txt forbids it")

// allow returns nil when a page may be fetched.
func (r *robotsCache) check(ctx context.Context, page *url.URL) error {
	site := page.Scheme + "://" + page.Host
	rules, known := r.sites[site]
	if !known {
		var err error
		if rules, err = r.fetch(ctx, site+"/robots.txt"); err != nil {
			return err
		}
		r.sites[site] = rules
	}
	path := page.EscapedPath()
	if path == "" {
		path = "/"
	}
	if page.RawQuery != "" {
		path += "?" + page.RawQuery
	}
	if !rules.allow(path) {
		return errForbidden
	}
	return nil
}

// fetch reads the rules of a site. One that has none allows all; one that is out of order allows nothing (2.3.1.4).
func (r *robotsCache) fetch(ctx context.Context, address string) (robotRules, error) {
	res, err := r.service.get(ctx, address, "", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		return robotRules{{path: "/"}}, nil
	case res.StatusCode != http.StatusOK:
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxRobots))
	if err != nil {
		return nil, err
	}
	return parseRobots(string(text), userAgent), nil
}

// robotRule says of paths whether they may be fetched. In a path * stands for anything, and $ for the end.
type robotRule struct {
	path  string
	allow bool
}

type robotRules []robotRule

// parseRobots returns the rules for a program: those of the groups that name it, or else of those for all.
func parseRobots(text, agent string) robotRules {
	var own, all robotRules
	named, forOwn, forAll, inRules := false, false, false, true
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line, _, _ = strings.Cut(line, "#")
		key, value, is := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		key = strings.ToLower(strings.TrimSpace(key))
		switch {
		case !is:
		case key == "user-agent":
			if inRules { // the first line of a group; others may follow it
				forOwn, forAll, inRules = false, false, false
			}
			forOwn = forOwn || strings.EqualFold(value, agent)
			forAll = forAll || value == "*"
			named = named || forOwn
		case key == "allow" || key == "disallow":
			inRules = true
			rule := robotRule{path: unescaped(value), allow: key == "allow"}
			if value == "" {
				continue // forbids nothing
			}
			if forOwn {
				own = append(own, rule)
			}
			if forAll {
				all = append(all, rule)
			}
		}
	}
	if named {
		return own
	}
	return all
}

// allow reports whether a path may be fetched: the longest rule that matches says so, and of two the one that allows.
func (rules robotRules) allow(path string) bool {
	path = unescaped(path)
	best, allowed := -1, true
	for _, r := range rules {
		if n := len(r.path); (n > best || n == best && r.allow) && r.matches(path) {
			best, allowed = n, r.allow
		}
	}
	return allowed
}

// matches compares piece by piece between the stars, each as early as it can be: no pattern takes long.
func (r robotRule) matches(path string) bool {
	pattern, toEnd := strings.CutSuffix(r.path, "$")
	pieces := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, pieces[0])
	if !ok {
		return false
	}
	if len(pieces) == 1 {
		return !toEnd || rest == ""
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		at := strings.Index(rest, piece)
		if at < 0 {
			return false
		}
		rest = rest[at+len(piece):]
	}
	if toEnd {
		return strings.HasSuffix(rest, pieces[last])
	}
	return strings.Contains(rest, pieces[last])
}

// unescaped undoes %XX, so that two spellings of a path are one.
func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
