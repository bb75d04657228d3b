package importer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// robotsCache holds the robots.txt rules (RFC 9309) of the sites of one import. Each robots.txt is fetched once per
// import.
type robotsCache struct {
	service *Service
	sites   map[string]robotRules
}

// maxRobots is the minimum parsing limit of RFC 9309, section 2.5.
const maxRobots = 500 << 10

var errForbidden = errors.New("disallowed by robots.txt")

// check returns errForbidden if robots.txt disallows a page.
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

// fetch reads the rules of a site. A missing robots.txt allows everything; a server error disallows everything
// (section 2.3.1.4).
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

// robotRule is an Allow or Disallow line. In its path "*" matches any characters and a final "$" the end.
type robotRule struct {
	path  string
	allow bool
}

type robotRules []robotRule

// parseRobots returns the rules of the groups that name the agent, or of the groups for "*" if none does.
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
			if inRules { // a group may begin with several User-agent lines
				forOwn, forAll, inRules = false, false, false
			}
			forOwn = forOwn || strings.EqualFold(value, agent)
			forAll = forAll || value == "*"
			named = named || forOwn
		case key == "allow" || key == "disallow":
			inRules = true
			rule := robotRule{path: unescaped(value), allow: key == "allow"}
			if value == "" {
				continue // an empty Disallow allows everything
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

// allow reports whether a path may be fetched. The longest matching rule decides; of two equally long ones, Allow
// wins (section 2.2.2).
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

// matches finds the pieces between the stars in order, each as early as possible, in linear time.
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

// unescaped decodes percent-encoding, so that equivalent spellings of a path match (section 2.2.2).
func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
