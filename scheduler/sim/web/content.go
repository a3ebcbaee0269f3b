package web

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// contentSeed makes the content: the same in every run.
const contentSeed = 0x616d626c65

// vocabulary is what a text is made of.
type vocabulary struct {
	words     []string
	join, end string
	lang      string
}

var (
	english = vocabulary{join: " ", end: ". ", lang: "en", words: strings.Fields(`
amber anchor autumn barley basin beacon birch bramble bridge brook canal candle carriage cedar chapel charcoal chart
clover coast copper corner cottage current delta drift dune ember estuary evening fallow fathom fern ferry field flint
ford forest foundry gale garden gravel grove harbour harvest hazel heath hedge heron hill hollow island ivy jetty
juniper kettle lantern lark ledge lichen lighthouse linen lock loom marsh meadow mill mooring moss narrow oak orchard
otter paddle parish path pebble pier pine plough pond quarry quay rain raven reed ridge river rope rowan saddle salt
shallow shingle shore slate slow sluice spring stable station stone stream summer terrace thicket thistle tide timber
towpath valley wagon walled warm water weather weir wheel willow winter wren yarrow after before near under along and
beyond towards without between keeps carries follows measures repairs records crosses holds leaves marks passes`)}

	french = vocabulary{join: " ", end: ". ", lang: "fr", words: strings.Fields(`
forêt rivière été hiver rosée château pêche fenêtre lumière après près façade garçon île hôtel théâtre œuvre naïf Noël
maïs côte pâte crème brûlée vélo musée école où déjà très chaîne gâteau maître août fête tempête clé marché pré vallée
bois pierre chemin lac jardin porte ville moulin quai bateau pont village colline champ`)}

	japaneseWords = vocabulary{join: "", end: "。", lang: "ja", words: strings.Fields(`
森 川 山 海 石 橋 朝 夜 春 夏 秋 冬 雨 風 雪 村 町 港 船 道 庭 花 草 木 鳥 魚 星 月 空 雲 の は が に を で と から まで
歩く 流れる 咲く 光る 静か 古い 新しい 長い 小さい 大きい 旅 時 水 火 土 家 窓 灯台 市場 図書館`)}
)

// draw is the site's own random source for one purpose.
func (s *site) draw(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(s.kind + " " + purpose))
	return rand.New(rand.NewPCG(contentSeed, h.Sum64()))
}

func (v vocabulary) sentence(r *rand.Rand, words int) string {
	parts := make([]string, words)
	for i := range parts {
		parts[i] = v.words[r.IntN(len(v.words))]
	}
	text := strings.Join(parts, v.join)
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func (v vocabulary) paragraph(r *rand.Rand) string {
	var b strings.Builder
	for range 3 + r.IntN(5) {
		b.WriteString(v.sentence(r, 6+r.IntN(14)))
		b.WriteString(v.end)
	}
	return strings.TrimSpace(b.String())
}

func anchor(href, text string) string {
	return `<a href="` + html.EscapeString(href) + `">` + html.EscapeString(text) + `</a>`
}

// grow makes a tree of n pages, "/" and n-1 others.
func (s *site) grow(n int) {
	r := s.draw("targets")
	sections := []string{"articles", "notes", "guides", "archive"}
	s.plant("/")
	for i := 1; i < n; i++ {
		section := sections[r.IntN(len(sections))]
		slug := english.words[r.IntN(80)] + "-" + english.words[r.IntN(80)]
		switch r.IntN(4) {
		case 0:
			s.plant(fmt.Sprintf("/%s/%d/", section, i))
		case 1:
			s.plant(fmt.Sprintf("/%s?id=%d&view=%s", section, i, slug))
		default:
			s.plant(fmt.Sprintf("/%s/%03d-%s.html", section, i, slug))
		}
	}
}

// plant adds a page to the tree.
func (s *site) plant(target string) *route {
	s.tree = append(s.tree, target)
	return s.add(target, 200, s.page)
}

// render is the HTML of a page, in the site's encoding: 2 to 20 KB of text, its links in the tree, its share of the
// extra fragments, and some links to pages here and elsewhere.
func (s *site) render(target string) []byte {
	r := s.draw(target)
	title := s.text.sentence(r, 3)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=%q>\n<head>\n%s<title>%s</title>\n</head>\n<body>\n<h1>%s</h1>\n",
		s.text.lang, s.head, title, title)
	i := slices.Index(s.tree, target)
	if i >= 0 {
		s.navigation(&b, i)
	}
	if s.more != nil {
		b.WriteString(s.more(target))
	}
	size := 3200 + r.IntN(2000)
	if r.IntN(3) == 0 {
		size = 5000 + r.IntN(13000)
	}
	for b.Len() < size {
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "<h2>%s</h2>\n", s.text.sentence(r, 4))
		}
		fmt.Fprintf(&b, "<p>%s", s.text.paragraph(r))
		switch r.IntN(6) {
		case 0:
			if len(s.tree) > 0 {
				fmt.Fprintf(&b, " %s", anchor(s.tree[r.IntN(len(s.tree))], s.text.sentence(r, 2)))
			}
		case 1:
			other := s.web.sites[r.IntN(len(s.web.sites))]
			fmt.Fprintf(&b, " %s", anchor(other.base+other.tree[r.IntN(len(other.tree))], s.text.sentence(r, 2)))
		}
		b.WriteString("</p>\n")
	}
	b.WriteString("</body>\n</html>\n")
	if s.encoding == nil {
		return b.Bytes()
	}
	coded, err := s.encoding.NewEncoder().Bytes(b.Bytes())
	if err != nil {
		panic(fmt.Sprintf("%s%s: %v", s.kind, target, err)) // the vocabulary fits its encoding
	}
	return coded
}

// navigation writes the links that make the tree whole.
func (s *site) navigation(b *bytes.Buffer, i int) {
	b.WriteString("<ul>\n")
	if i > 0 {
		fmt.Fprintf(b, "<li>%s</li>\n", anchor(s.tree[(i-1)/4], "up"))
	}
	for c := 4*i + 1; c <= 4*i+4 && c < len(s.tree); c++ {
		fmt.Fprintf(b, "<li>%s</li>\n", anchor(s.tree[c], s.text.sentence(s.draw(s.tree[c]), 3)))
	}
	for e := i; e < len(s.extra); e += len(s.tree) {
		fmt.Fprintf(b, "<li>%s</li>\n", s.extra[e])
	}
	b.WriteString("</ul>\n")
}
