package scheduler

import "fmt"

// notice is a kind of what the user is told while the crawl runs.
type notice string

const (
	ofCrawl notice = "the crawl"
	ofSeed  notice = "seeds"
	ofHost  notice = "hosts"
	ofPage  notice = "pages"
)

// maxSaid is how many lines of one kind are said in a run: a list of a million seeds must not bury the rest.
const maxSaid = 20

// say tells the user something that cannot wait for the end.
func (c *core) say(kind notice, msg string) {
	if c.notify == nil {
		return
	}
	c.said[kind]++
	switch n := c.said[kind]; {
	case n <= maxSaid:
		c.notify(msg)
	case n == maxSaid+1:
		c.notify(fmt.Sprintf("no more is said here of %s; %s has every one", kind, crawlLogName))
	}
}

// quote makes text from a site fit for a terminal: one line, nothing unprintable.
func quote(s string) string { return fmt.Sprintf("%+q", s) }
