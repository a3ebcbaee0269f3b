// Reads WARC files with warcio and checks every record: node warcio-check.mjs DIR_OF_WARCIO FILE...
// The named fields are there and of their form, Content-Length is right, block and payload digests match, ids are
// unique, and what a record refers to is in the file.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [dir, ...files] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${dir}/package.json`));
const { WARCParser } = require("warcio");

let faults = 0;
const fault = (file, id, what) => {
	faults++;
	console.log(`${file}: ${id}: ${what}`);
};
const sha256 = (bytes) => "sha256:" + createHash("sha256").update(bytes).digest("hex");

// entity is the entity body of an HTTP message. The archive holds it without transfer coding.
const entity = (block) => {
	const end = Buffer.from(block).indexOf("\r\n\r\n");
	return end < 0 ? new Uint8Array() : block.subarray(end + 4);
};

for (const file of files) {
	const ids = new Set();
	const references = [];
	const counts = {};
	// Blocks are read as they are: the digests are over these octets.
	const parser = new WARCParser(createReadStream(file), { keepHeadersCase: true, parseHttp: false });
	for await (const record of parser) {
		const fields = record.warcHeaders.headers;
		const id = fields.get("WARC-Record-ID") ?? "a record without an id";
		const type = fields.get("WARC-Type");
		counts[type] = (counts[type] ?? 0) + 1;
		if (record.warcHeaders.statusline !== "WARC/1.1") fault(file, id, `begins with ${record.warcHeaders.statusline}`);
		if (!/^<urn:uuid:[0-9a-f-]{36}>$/.test(id)) fault(file, id, "is no UUID");
		if (ids.has(id)) fault(file, id, "occurs twice");
		ids.add(id);
		if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(fields.get("WARC-Date") ?? "")) fault(file, id, "has no date");
		const block = await record.readFully(false);
		if (block.length !== Number(fields.get("Content-Length"))) fault(file, id, `has ${block.length} bytes of ${fields.get("Content-Length")}`);
		const digest = fields.get("WARC-Block-Digest");
		if (digest && digest !== sha256(block)) fault(file, id, "has another block digest");
		const payload = fields.get("WARC-Payload-Digest");
		if (payload && type === "response" && payload !== sha256(entity(block))) fault(file, id, "has another payload digest");
		if (type === "response" && !payload) fault(file, id, "has no payload digest");
		for (const name of ["WARC-Concurrent-To", "WARC-Warcinfo-ID"]) {
			if (fields.has(name)) references.push([id, name, fields.get(name)]);
		}
	}
	for (const [id, name, target] of references) {
		if (!ids.has(target)) fault(file, id, `${name} names ${target}, which is not here`);
	}
	console.log(`${file.split("/").pop()}: ${Object.entries(counts).map(([type, n]) => `${n} ${type}`).join(", ")}`);
	if (!counts.warcinfo || !counts.response) fault(file, "the file", "holds no captures");
}
process.exit(faults ? 1 : 0);
