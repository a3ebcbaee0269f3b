package configs

import (
	"fmt"
	"net/url"
	"strings"
)

// Product is Amble's own robots.txt product token.
const Product = "Amble"

// borrowed are agents of browsers, tools and crawlers that people know: to use one is to claim to be somebody else.
var borrowed = []string{
	"mozilla", "applewebkit", "chrome", "chromium", "crios", "safari", "firefox", "fxios", "gecko", "opera", "opr", "edge",
	"edg", "edga", "msie", "trident", "presto", "seamonkey", "vivaldi", "brave", "samsungbrowser", "lynx", "w3m",
	"googlebot", "google", "google-extended", "googleother", "adsbot-google", "mediapartners-google", "apis-google",
	"storebot-google", "feedfetcher-google", "bingbot", "msnbot", "bingpreview", "adidxbot", "slurp", "duckduckbot",
	"duckassistbot", "baiduspider", "yandex", "yandexbot", "sogou", "exabot", "qwantify", "seznambot", "petalbot",
	"naverbot", "yeti", "applebot", "applebot-extended", "amazonbot", "facebookexternalhit", "facebookbot",
	"meta-externalagent", "twitterbot", "linkedinbot", "pinterestbot", "slackbot", "discordbot", "telegrambot", "whatsapp",
	"gptbot", "chatgpt-user", "oai-searchbot", "claudebot", "claude-user", "claude-searchbot", "anthropic-ai",
	"perplexitybot", "perplexity-user", "ccbot", "bytespider", "tiktokspider", "cohere-ai", "diffbot", "ahrefsbot",
	"semrushbot", "mjbot", "mj12bot", "dotbot", "rogerbot", "screaming frog", "dataforseobot", "serpstatbot", "blexbot",
	"ia_archiver", "archive.org_bot", "heritrix", "nutch", "curl", "wget", "python-requests", "scrapy", "go-http-client",
}

// agentParts reads NAME or NAME/VERSION. NAME is a product token by RFC 9309 section 2.2.1: letters, "_" and "-".
func agentParts(agent string) (name, version string, err error) {
	name, version, _ = strings.Cut(agent, "/")
	for _, b := range borrowed {
		if strings.EqualFold(name, b) {
			return "", "", fmt.Errorf("%q belongs to somebody else: name your own crawler, as in ExampleBot/1.0", agent)
		}
	}
	if name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") != "" {
		return "", "", fmt.Errorf("%q: the name is what robots.txt asks for, so it has letters, \"_\" and \"-\" only, as in ExampleBot/1.0", agent)
	}
	if !isToken(version) {
		return "", "", fmt.Errorf("%q: the version has letters, digits and . _ + - only, as in ExampleBot/1.0", agent)
	}
	return name, version, nil
}

// isToken tells the RFC 9110 section 5.6.2 characters that a version needs; empty is one.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !alnum && !strings.ContainsRune("._+-~", rune(c)) {
			return false
		}
	}
	return true
}

// userAgent is the field value: "Amble/1.2 (+https://example.org/crawl)".
func userAgent(name, version, contact string) string {
	ua := name
	if version != "" {
		ua += "/" + version
	}
	if contact != "" {
		ua += " (+" + contact + ")"
	}
	return ua
}

// checkContact accepts a web page or a mail address that fits into a comment of the user agent.
func checkContact(contact string) error {
	bad := fmt.Errorf("%q is no contact: give a page (https://example.org/crawl) or a mail address (crawl@example.org) where a site's owner reaches you", contact)
	for i := range len(contact) {
		if c := contact[i]; c <= ' ' || c >= 0x7f || strings.ContainsRune(`()\"<>`, rune(c)) {
			return bad
		}
	}
	u, err := url.Parse(contact)
	if err != nil {
		return bad
	}
	address := contact
	switch u.Scheme {
	case "http", "https":
		if strings.Contains(u.Host, ".") && u.User == nil {
			return nil
		}
		return bad
	case "mailto":
		address = u.Opaque
	case "":
	default:
		return bad
	}
	local, domain, ok := strings.Cut(address, "@")
	if !ok || local == "" || strings.ContainsAny(domain, "@/") || !strings.Contains(strings.Trim(domain, "."), ".") {
		return bad
	}
	return nil
}
