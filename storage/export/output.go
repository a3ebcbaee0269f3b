package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// output is where an export goes: standard output, a file or shards. Files are written under temporary names and get
// their own all together, when the export is whole.
type output struct {
	opt    *Options
	job    string
	raw    bool // the format compresses by itself
	files  []*outFile
	cur    *outFile
	header func() error // called when a file has been begun
}

type outFile struct {
	path string // as it was named; "" standard output
	dest string // path, behind its symbolic links
	temp *os.File
	n    countWriter
	buf  *bufio.Writer
	comp io.WriteCloser // nil: not compressed
	w    io.Writer
}

type countWriter struct {
	w io.Writer
	n int64
}

func (c *countWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// newOutput refuses what cannot be written before any work is done.
func newOutput(opt *Options, job string) (*output, error) {
	o := &output{opt: opt, job: job, raw: opt.Format == "warc"}
	if opt.toStdout() {
		if opt.Stdout == nil {
			return nil, &OptionError{"--output", "there is no standard output; name a file"}
		}
		return o, nil
	}
	if info, err := os.Stat(opt.Output); err == nil && info.IsDir() {
		return nil, &OptionError{"--output", fmt.Sprintf("%s is a folder; name a file in it", opt.Output)}
	}
	if dir := filepath.Dir(opt.Output); dir != "." {
		if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, &OptionError{"--output", fmt.Sprintf("there is no folder %s; make it, or name a file elsewhere", dir)}
		} else if err == nil && !info.IsDir() {
			return nil, &OptionError{"--output", fmt.Sprintf("%s is no folder; name a file elsewhere", dir)}
		}
	}
	_, err := o.place(o.name(0))
	return o, err
}

// place is where a file of that name is put. It refuses what is there without Overwrite, and the job's own files with it.
func (o *output) place(path string) (string, error) {
	dest, err := followed(path)
	if err != nil {
		return "", err
	}
	if err := refuseOwn(o.job, path, dest); err != nil {
		return "", err
	}
	if err := o.refuse(path); err != nil {
		return "", err
	}
	if info, err := os.Stat(dest); err == nil && !info.Mode().IsRegular() {
		return "", &OptionError{"--output", fmt.Sprintf("%s is no regular file; for a device or a pipe, write to standard output and redirect that", path)}
	}
	return dest, nil
}

func (o *output) refuse(path string) error {
	if o.opt.Overwrite {
		return nil
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			return fmt.Errorf("%s: %w; name another output, or overwrite it with --overwrite", path, fs.ErrExist)
		}
		return err
	}
	return nil
}

// name is the path of the i-th file: of shards, NAME-00000.SUFFIX.
func (o *output) name(i int) string {
	if o.opt.ShardBytes == 0 {
		return o.opt.Output
	}
	dir, base := filepath.Split(o.opt.Output)
	stem, suffix := base, ""
	if at := strings.IndexByte(base[min(1, len(base)):], '.'); at >= 0 {
		stem, suffix = base[:at+1], base[at+1:]
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%05d%s", stem, i, suffix))
}

// begin makes sure that a file is open into which a record of about size bytes may go.
func (o *output) begin(size int64) error {
	if o.cur != nil && o.opt.ShardBytes > 0 && o.cur.written()+size > o.opt.ShardBytes && o.cur.written() > 0 {
		if err := o.cur.finish(); err != nil {
			return err
		}
		o.cur = nil
	}
	if o.cur != nil {
		return nil
	}
	f, err := o.create()
	if err != nil {
		return err
	}
	o.cur = f
	if o.header != nil {
		return o.header()
	}
	return nil
}

func (o *output) create() (*outFile, error) {
	f := &outFile{}
	if o.opt.toStdout() {
		f.n.w = o.opt.Stdout
	} else {
		f.path = o.name(len(o.files))
		var err error
		if f.dest, err = o.place(f.path); err != nil {
			return nil, err
		}
		dir, base := filepath.Split(f.dest)
		for try := 0; ; try++ {
			name := filepath.Join(dir, fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), try))
			f.temp, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrExist) || try == 100 {
				return nil, err
			}
		}
		f.n.w = f.temp
	}
	o.files = append(o.files, f)
	f.buf = bufio.NewWriterSize(&f.n, 64<<10)
	f.w = f.buf
	if o.raw {
		return f, nil
	}
	switch filepath.Ext(f.path) {
	case ".gz":
		f.comp = gzip.NewWriter(f.buf)
	case ".zst":
		enc, err := zstd.NewWriter(f.buf, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		f.comp = enc
	default:
		return f, nil
	}
	f.w = f.comp
	return f, nil
}

// Write writes to the file that is open.
func (o *output) Write(p []byte) (int, error) { return o.cur.w.Write(p) }

// written is what has reached the file; a compressor holds some more back.
func (f *outFile) written() int64 { return f.n.n + int64(f.buf.Buffered()) }

func (f *outFile) finish() error {
	if f.comp != nil {
		if err := f.comp.Close(); err != nil {
			return err
		}
	}
	if err := f.buf.Flush(); err != nil || f.temp == nil {
		return err
	}
	return errors.Join(f.temp.Sync(), f.temp.Close())
}

// commit gives the files their names. An export without captures makes its one file all the same.
func (o *output) commit() (paths []string, bytes int64, err error) {
	if len(o.files) == 0 {
		if err := o.begin(0); err != nil {
			return nil, 0, err
		}
	}
	if err := o.cur.finish(); err != nil {
		return nil, 0, err
	}
	for _, f := range o.files {
		bytes += f.n.n
		if f.temp == nil {
			continue
		}
		if err := o.refuse(f.path); err != nil {
			return nil, 0, err
		}
		if err := os.Rename(f.temp.Name(), f.dest); err != nil {
			return nil, 0, err
		}
		f.temp = nil
		paths = append(paths, f.path)
	}
	if len(paths) > 0 {
		err = o.settle(len(paths))
	}
	return paths, bytes, err
}

// settle removes the shards that an overwritten export had beyond those of this one, and makes the names durable.
func (o *output) settle(shards int) error {
	for i := shards; o.opt.Overwrite && o.opt.ShardBytes > 0; i++ {
		err := os.Remove(o.name(i))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
	}
	synced := map[string]bool{}
	for _, f := range o.files {
		dir := filepath.Dir(f.dest)
		if synced[dir] {
			continue
		}
		synced[dir] = true
		if d, err := os.Open(dir); err == nil {
			_ = d.Sync() // not every system can
			_ = d.Close()
		}
	}
	return nil
}

// abandon removes the temporary files. What standard output has got ends with a whole line.
func (o *output) abandon() {
	for _, f := range o.files {
		if f.temp == nil {
			if f.path == "" {
				_ = f.buf.Flush() // the error that stands is the export's
			}
			continue
		}
		_ = f.temp.Close() // a second time for the finished ones
		_ = os.Remove(f.temp.Name())
	}
}
