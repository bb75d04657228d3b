package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Unseen returns the documented operations, replies, content types, fields and enum values that occurred in no reply,
// except those that match one of the allowed patterns. A * in a pattern matches any text. A pattern that matches
// nothing is reported too, so that the list of exceptions can only shrink, unless it begins with "maybe ": it is then
// of something that occurs only if the test takes long.
//
// The lines read "operation listAgents", "reply listAgents 304", "type exportFavourites 200 text/csv",
// "field Agent.name", "field Thread.lastMessageAt as null", "value MemoryOrigin=agent" and "header RateLimit".
func (c *Checker) Unseen(allowed ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := c.doc.coverable()
	for line := range c.seen {
		delete(missing, line)
	}
	unseen := slices.Sorted(maps.Keys(missing))
	for _, pattern := range allowed {
		pattern, maybe := strings.CutPrefix(pattern, "maybe ")
		covered := matcher(pattern)
		if !maybe && !slices.ContainsFunc(slices.Collect(maps.Keys(missing)), covered) {
			unseen = append(unseen, fmt.Sprintf("the exception %q matches nothing unseen", pattern))
		}
		unseen = slices.DeleteFunc(unseen, covered)
	}
	return unseen
}

// matcher returns a function that reports whether a line matches a pattern.
func matcher(pattern string) func(line string) bool {
	re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return re.MatchString
}

// coverable returns all lines that Unseen can report.
func (d *document) coverable() map[string]bool {
	out := map[string]bool{}
	visited := map[*schema]bool{}
	for _, op := range d.operations {
		out["operation "+op.id] = true
		for status, r := range op.responses {
			name := fmt.Sprintf("%s %d", op.id, status)
			out["reply "+name] = true
			for header, optional := range r.optional {
				if optional { // the others are in every reply
					out["header "+header] = true
				}
			}
			for media, s := range r.content {
				if len(r.content) > 1 { // otherwise the reply implies it
					out["type "+name+" "+media] = true
				}
				s.addCoverable(out, visited)
			}
		}
	}
	return out
}

func (s *schema) addCoverable(out map[string]bool, visited map[*schema]bool) {
	if visited[s] {
		return
	}
	visited[s] = true
	if len(s.types) > 1 {
		for kind := range s.types {
			out[fmt.Sprintf("field %s as %s", s.name, kind)] = true
		}
	}
	for _, v := range s.enum {
		out[fmt.Sprintf("value %s=%v", s.name, v)] = true
	}
	if s.items != nil {
		s.items.addCoverable(out, visited)
	}
	for name, property := range s.properties {
		if s.name != "" {
			out["field "+s.name+"."+name] = true
		}
		property.addCoverable(out, visited)
	}
}
