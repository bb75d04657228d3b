package format

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// maxStyles limits the styles and lists that are read.
const maxStyles = 10_000

// docxStyle is what a paragraph style says about structure.
type docxStyle struct {
	// name is in lower case and the same in all languages of Word.
	name string
	// level is the level of a heading from 1, or 0.
	level int
	// list and depth are the list that a paragraph is an item of.
	list    string
	depth   int
	basedOn string
}

func (s docxStyle) isItem() bool { return s.list != "" && s.list != "0" }

// readDocxStyles returns the paragraph styles of a file by id.
func readDocxStyles(o *office, part string) map[string]docxStyle {
	styles := map[string]docxStyle{}
	id := ""
	// Without styles, paragraphs are recognized by the usual ids.
	_, _ = o.tokens(part, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok {
			return
		}
		val := attribute(e, "val")
		s := styles[id]
		switch e.Name.Local {
		case "style":
			if id = attribute(e, "styleId"); attribute(e, "type") != "paragraph" || len(styles) >= maxStyles {
				id = ""
			}
			return
		case "name":
			s.name = strings.ToLower(val)
		case "basedOn":
			s.basedOn = val
		case "outlineLvl":
			if level, err := strconv.Atoi(val); err == nil && level >= 0 && level < 9 {
				s.level = level + 1
			}
		case "numId":
			s.list = val
		case "ilvl":
			s.depth, _ = strconv.Atoi(val) // 0 if it is no number
		default:
			return
		}
		if id != "" {
			styles[id] = s
		}
	})
	return styles
}

// maxBased limits the styles that a style may inherit from.
const maxBased = 10

// styleOf resolves a style with those it is based on.
func (w *docxWriter) styleOf(id string) docxStyle {
	s, known := w.styles[id]
	if !known {
		s.name = strings.ToLower(id)
	}
	level, base := headingStyle(s), s
	for range maxBased {
		if level > 0 && s.list != "" {
			break
		}
		next, known := w.styles[base.basedOn]
		if !known {
			break
		}
		base = next
		if level == 0 {
			level = headingStyle(base)
		}
		if s.list == "" {
			s.list, s.depth = base.list, base.depth
		}
	}
	s.level = level
	return s
}

// headingStyle returns the level of a heading style, 0 for others.
func headingStyle(s docxStyle) int {
	if s.name == "title" {
		return 1
	}
	if rest, is := strings.CutPrefix(s.name, "heading"); is {
		if level, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil && level > 0 && level < 10 {
			return level
		}
	}
	return s.level
}

// docxNumbers maps lists to the formats of their levels.
type docxNumbers struct {
	abstract map[string]string
	formats  map[string]string
}

func readDocxNumbers(o *office, part string) docxNumbers {
	n := docxNumbers{map[string]string{}, map[string]string{}}
	abstract, list, level := "", "", ""
	// Without definitions, items get bullets.
	_, _ = o.tokens(part, func(t xml.Token) {
		e, ok := t.(xml.StartElement)
		if !ok || len(n.formats) >= maxStyles || len(n.abstract) >= maxStyles {
			return
		}
		switch e.Name.Local {
		case "abstractNum":
			abstract = attribute(e, "abstractNumId")
		case "lvl":
			level = attribute(e, "ilvl")
		case "numFmt":
			n.formats[abstract+"/"+level] = attribute(e, "val")
		case "num":
			list = attribute(e, "numId")
		case "abstractNumId":
			n.abstract[list] = attribute(e, "val")
		}
	})
	return n
}

// next returns the number of the next item of a list, or 0 for a bullet.
func (n docxNumbers) next(counts map[string]int, list string, depth int) int {
	format := n.formats[n.abstract[list]+"/"+strconv.Itoa(depth)]
	if format == "" || format == "bullet" || format == "none" || len(counts) > maxStyles {
		return 0
	}
	key := func(depth int) string { return list + "/" + strconv.Itoa(depth) }
	counts[key(depth)]++
	for deeper := depth + 1; deeper < 9; deeper++ {
		delete(counts, key(deeper))
	}
	return counts[key(depth)]
}
