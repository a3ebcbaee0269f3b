package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"amble/storage"
)

// Options of one export.
type Options struct {
	// Format is one of Formats.
	Format string
	// Output is a path, or "" or "-" for Stdout. A name that ends in .gz or .zst is compressed.
	Output string
	Stdout io.Writer
	// Overwrite replaces an existing output; else it is an error.
	Overwrite bool

	// End is the committed end of the archive, where the export stops; nil: at the last whole capture.
	End *storage.Ends

	Host       string // name (on any port), name:port, or *.domain (its subdomains); comma list
	Status     string // "200", "2xx", "200,404", "300-399"
	Mime       string // "text/html", "text/*", comma list
	URL        *regexp.Regexp
	Since      time.Time
	First      bool                    // only the first capture of each URL
	Newest     bool                    // only the newest
	Body       bool                    // jsonl
	ShardBytes int64                   // size of a file at which the next is begun, NAME-00000.SUFFIX and so on; 0: one file
	Progress   func(done, total int64) // bytes of the archive; called at most once a second, and at the end
	// Damaged is told of each capture that is left out since it cannot be read; the error names its file and offset.
	Damaged func(err error)

	// IncludeNoindex gives the bodies of pages that ask not to be indexed or archived, too.
	IncludeNoindex bool
	// Info are fields for the warcinfo record of the warc format, before its own.
	Info [][2]string
}

// Formats that Run knows.
var Formats = []string{"warc", "jsonl", "csv", "urls", "seeds"}

// Stats of an export.
type Stats struct {
	// Captures is how many were written; URLs or seeds in those formats.
	Captures int64
	// Bytes is what was written, compressed where it is.
	Bytes int64
	// Files are the paths written, in order; none for standard output.
	Files []string
	// Withheld counts the bodies left out since their pages ask not to be indexed or archived.
	Withheld int64
	// Damaged counts the captures that were left out since they cannot be read.
	Damaged int64
}

// OptionError is an option that cannot be used; it names the flag and says what can.
type OptionError struct {
	Flag, Msg string
}

func (e *OptionError) Error() string { return e.Flag + ": " + e.Msg }

// format writes captures in one way. A capture that it does not count (a seed seen before) gives false.
type format interface {
	capture(r *storage.Reader, e *storage.Entry) (bool, error)
	// finish writes what has waited for the last capture.
	finish(ctx context.Context) error
	// close gives back what finish would have used; it may follow finish.
	close()
}

// Run exports the captures of the job in dir (JOB) up to the committed end. Files are written under a temporary name and
// renamed when whole; when Run fails or ctx is cancelled, none is left. A capture that is damaged is left out and counted
// in Stats.Damaged: what is written is what could be read. Options that cannot be used are an *OptionError; an output
// that exists wraps fs.ErrExist.
func Run(ctx context.Context, jobDir string, opt Options) (Stats, error) {
	stats, err := run(ctx, jobDir, opt)
	if err != nil {
		var oe *OptionError
		if errors.As(err, &oe) {
			return Stats{}, err
		}
		return Stats{}, fmt.Errorf("export %s: %w", opt.Format, err)
	}
	return stats, nil
}

func run(ctx context.Context, jobDir string, opt Options) (stats Stats, err error) {
	if err := check(&opt); err != nil {
		return stats, err
	}
	sel, err := newSelection(&opt)
	if err != nil {
		return stats, err
	}
	p := newProgress(&opt)
	if opt.Newest {
		p.passes = 2
		if err := each(ctx, jobDir, &opt, p, func(_ *storage.Reader, e *storage.Entry) error {
			if sel.matches(e) {
				sel.remember(e)
			}
			return nil
		}); err != nil {
			return stats, err
		}
		p.pass++
		sel.at = 0
	}
	out, err := newOutput(&opt, jobDir)
	if err != nil {
		return stats, err
	}
	defer out.abandon() // nothing is left to abandon after a commit
	f := newFormat(&opt, out, &stats)
	defer f.close()
	err = each(ctx, jobDir, &opt, p, func(r *storage.Reader, e *storage.Entry) error {
		if !sel.matches(e) || !sel.chosen(e) {
			return nil
		}
		counted, err := f.capture(r, e)
		if counted {
			stats.Captures++
		}
		if isDamage(err) {
			stats.Damaged++
			if opt.Damaged != nil {
				opt.Damaged(err)
			}
			return nil
		}
		return err
	})
	if err == nil {
		err = f.finish(ctx)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return stats, err
	}
	stats.Files, stats.Bytes, err = out.commit()
	return stats, err
}

// isDamage tells whether a capture could not be read, whatever else can be. A format finds that out before it writes.
func isDamage(err error) bool { return errors.Is(err, storage.ErrDamaged) }

// verify reads what is left of the payload, for its length and its checksum.
func verify(e *storage.Entry, rec *storage.Record) error {
	_, err := io.Copy(io.Discard, rec.Payload)
	return damage(e, err)
}

// damage says of an error of reading a payload where it happened.
func damage(e *storage.Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read archive: %w: %s at offset %d: %w", storage.ErrDamaged, e.Segment, e.Offset, err)
}

// each calls visit with every capture of the archive.
func each(ctx context.Context, jobDir string, opt *Options, p *progress, visit func(*storage.Reader, *storage.Entry) error) error {
	r, err := storage.OpenReader(jobDir, opt.End)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // only read
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := r.Next()
		if err == io.EOF {
			p.report(r, true)
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(r, &e); err != nil {
			return err
		}
		p.report(r, false)
	}
}

func newFormat(opt *Options, out *output, stats *Stats) format {
	switch opt.Format {
	case "warc":
		return &warcFormat{out: out, opt: opt}
	case "jsonl":
		return &jsonlFormat{out: out, opt: opt, stats: stats}
	case "csv":
		return &csvFormat{out: out}
	case "urls":
		return &urlsFormat{out: out, sorter: newSorter(sortBytes), stats: stats}
	default:
		return &seedsFormat{out: out, seen: map[string]struct{}{}}
	}
}

func check(opt *Options) error {
	if !slices.Contains(Formats, opt.Format) {
		return &OptionError{"--format", fmt.Sprintf("%q is not known; known are %s", opt.Format, strings.Join(Formats, ", "))}
	}
	if opt.First && opt.Newest {
		return &OptionError{"--first", "does not go with --newest; choose one"}
	}
	if opt.Body && opt.Format != "jsonl" {
		return &OptionError{"--body", "goes with --format jsonl only"}
	}
	if opt.ShardBytes < 0 {
		return &OptionError{"--shard-size", "must not be negative"}
	}
	if opt.toStdout() && opt.ShardBytes > 0 {
		return &OptionError{"--shard-size", "needs files; name one with --output"}
	}
	if opt.Format == "warc" && strings.HasSuffix(opt.Output, ".zst") {
		return &OptionError{"--output", "a WARC file is compressed record by record with gzip; name it .warc.gz"}
	}
	return nil
}

func (opt *Options) toStdout() bool { return opt.Output == "" || opt.Output == "-" }

// progress calls Options.Progress at most once a second.
type progress struct {
	call         func(done, total int64)
	last         time.Time
	pass, passes int64
}

func newProgress(opt *Options) *progress {
	return &progress{call: opt.Progress, last: time.Now(), passes: 1}
}

func (p *progress) report(r *storage.Reader, end bool) {
	if p.call == nil || !end && time.Since(p.last) < time.Second {
		return
	}
	if end && p.pass+1 < p.passes {
		return
	}
	p.last = time.Now()
	done, total := r.Bytes()
	p.call(p.pass*total+done, p.passes*total)
}
