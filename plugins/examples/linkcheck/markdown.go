package main

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Page is what matters of a Markdown file.
type Page struct {
	Links   []Link
	Anchors map[string]bool // what a fragment may name
}

// Link is one link or image.
type Link struct {
	Line   int
	Target string
	Broken string // why it has no target; empty: it has one
}

var (
	fence      = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	underline  = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	definition = regexp.MustCompile(`^ {0,3}\[([^\]^][^\]]*)\]:[ \t]*(<[^>]*>|\S+)`)
	inline     = regexp.MustCompile(`\]\([ \t]*(<[^>]*>|(?:[^()\s]|\([^()\s]*\))+)(?:[ \t]+["'(][^)]*)?[ \t]*\)`)
	reference  = regexp.MustCompile(`\[([^\[\]]+)\]\[([^\[\]]*)\]`)
	anchor     = regexp.MustCompile(`<[a-zA-Z][^>]*\b(?:id|name)=["']([^"']+)["']`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// Parse reads a page: links and images, inline or by reference, definitions of references, headings, and anchors of
// HTML. Code and comments are left out. It does not understand all of Markdown: a link must stand in one line.
func Parse(text string) Page {
	p := Page{Anchors: map[string]bool{}}
	lines := strings.Split(blank(text), "\n")
	defined := map[string]bool{}
	for _, line := range lines {
		if m := definition.FindStringSubmatch(line); m != nil {
			defined[label(m[1])] = true
		}
	}
	slugs := map[string]int{}
	for i, line := range lines {
		if m := heading.FindStringSubmatch(line); m != nil {
			p.addHeading(m[1], slugs)
		} else if i > 0 && underline.MatchString(line) && strings.TrimSpace(lines[i-1]) != "" {
			p.addHeading(lines[i-1], slugs)
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.Anchors[m[1]] = true
		}
		prose := withoutCode(line)
		if m := definition.FindStringSubmatch(prose); m != nil {
			p.Links = append(p.Links, Link{Line: i + 1, Target: strings.Trim(m[2], "<>")})
			continue
		}
		for _, m := range inline.FindAllStringSubmatch(prose, -1) {
			p.Links = append(p.Links, Link{Line: i + 1, Target: strings.Trim(m[1], "<>")})
		}
		for _, m := range reference.FindAllStringSubmatch(prose, -1) {
			name := m[2]
			if name == "" {
				name = m[1]
			}
			if !defined[label(name)] {
				p.Links = append(p.Links, Link{i + 1, m[0], "the page defines no [" + name + "]"})
			}
		}
	}
	return p
}

// label is a reference as it is compared: in any case, any amount of space.
func label(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// blank empties fenced code and comments, and keeps the lines.
func blank(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	open, comment := "", false
	for i, line := range lines {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != "":
			if m != nil && strings.HasPrefix(m[1], open) && strings.Trim(line, " \t"+open[:1]) == "" {
				open = ""
			}
			lines[i] = ""
		case m != nil && !comment:
			open, lines[i] = m[1], ""
		default:
			lines[i], comment = uncomment(line, comment)
		}
	}
	return strings.Join(lines, "\n")
}

// uncomment removes comments from a line that begins inside one or not, and says whether the next line does.
func uncomment(line string, inside bool) (string, bool) {
	var b strings.Builder
	for {
		mark := "<!--"
		if inside {
			mark = "-->"
		}
		before, after, found := strings.Cut(line, mark)
		if !inside {
			b.WriteString(before)
		}
		if !found {
			return b.String(), inside
		}
		inside, line = !inside, after
	}
}

// withoutCode removes code spans: text between runs of backticks of the same length.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:i])
		rest := strings.TrimLeft(line[i:], "`")
		run := line[i : len(line)-len(rest)]
		if end := closing(rest, run); end >= 0 {
			b.WriteByte(' ')
			line = rest[end+len(run):]
		} else {
			b.WriteString(run)
			line = rest
		}
	}
}

// closing is where a run of exactly these backticks begins in s, or -1.
func closing(s, run string) int {
	for at := 0; ; {
		i := strings.Index(s[at:], run)
		if i < 0 {
			return -1
		}
		at += i
		n := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if n == len(run) {
			return at
		}
		at += n
	}
}

// addHeading adds the anchor of a heading, numbered if the page has one of that name already.
func (p *Page) addHeading(text string, slugs map[string]int) {
	s := slug(text)
	n := slugs[s]
	slugs[s]++
	if n > 0 {
		s += "-" + strconv.Itoa(n)
	}
	p.Anchors[s] = true
}

// slug is the anchor of a heading as code forges make it: lower case, without punctuation, spaces as dashes.
func slug(text string) string {
	text = linkText.ReplaceAllString(strings.TrimSpace(text), "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, text)
}
