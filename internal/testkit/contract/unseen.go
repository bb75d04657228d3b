package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Unseen returns what the document promises and no reply has shown: operations, their replies and content types, and
// the fields and listed values of what replies are made of. What one of the allowed patterns covers, in which * stands
// for any text, is left out. A pattern that covers nothing unseen is reported too, so that a list of exceptions can
// only shrink.
//
// The lines read "operation listAgents", "reply listAgents 304", "type exportFavourites 200 text/csv",
// "field Agent.name", "field Thread.lastMessageAt as null" and "value Memory.origin=agent".
func (c *Checker) Unseen(allowed ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := c.doc.promises()
	for line := range c.seen {
		delete(missing, line)
	}
	unseen := slices.Sorted(maps.Keys(missing))
	for _, pattern := range allowed {
		covered := matcher(pattern)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(missing)), covered) {
			unseen = append(unseen, fmt.Sprintf("the exception %q covers nothing: all of it was seen, or it is not in the document", pattern))
		}
		unseen = slices.DeleteFunc(unseen, covered)
	}
	return unseen
}

// matcher returns whether a line is covered by a pattern, in which * stands for any text.
func matcher(pattern string) func(line string) bool {
	re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	return re.MatchString
}

// promises lists all that replies can show of the document.
func (d *document) promises() map[string]bool {
	out := map[string]bool{}
	visited := map[*schema]bool{}
	for _, op := range d.operations {
		out["operation "+op.id] = true
		for status, r := range op.responses {
			name := fmt.Sprintf("%s %d", op.id, status)
			out["reply "+name] = true
			for media, s := range r.content {
				if len(r.content) > 1 { // else the reply says it
					out["type "+name+" "+media] = true
				}
				s.promises(out, visited)
			}
		}
	}
	return out
}

func (s *schema) promises(out map[string]bool, visited map[*schema]bool) {
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
		s.items.promises(out, visited)
	}
	for name, property := range s.properties {
		if s.name != "" {
			out["field "+s.name+"."+name] = true
		}
		property.promises(out, visited)
	}
}
