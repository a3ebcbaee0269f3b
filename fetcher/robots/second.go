package robots

import (
	"fmt"

	"github.com/temoto/robotstxt"
)

// SecondOpinion is what github.com/temoto/robotstxt, which many Go crawlers use, says of the same file, product token and
// request-target. Amble never acts on it: it shows a site's owner how others read the file. The error is that library's
// refusal to read the file at all.
func SecondOpinion(file []byte, token, target string) (allowed bool, err error) {
	data, err := robotstxt.FromBytes(file)
	if err != nil {
		return false, fmt.Errorf("second opinion: %w", err)
	}
	return data.TestAgent(target, token), nil
}
