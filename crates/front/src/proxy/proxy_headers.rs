//! Request headers that only a proxy may send. Applications, or libraries in them, trust each of them; so the server
//! accepts them from trusted proxies alone.

/// Header names, and what an attacker could claim by them. A name that ends in a dash stands for all names with that
/// prefix. docs/deploying.md has the same table.
pub(crate) const TABLE: &[(&[&str], &str)] = &[
    (
        &["forwarded", "x-forwarded", "x-forwarded-"],
        "who the client is, what it asked for and how: Rack and Rails believe them",
    ),
    (
        &[
            "x-real-ip",
            "client-ip",
            "x-client-ip",
            "x-cluster-client-ip",
            "true-client-ip",
            "x-originating-ip",
            "proxy-client-ip",
            "wl-proxy-client-ip",
            "x-envoy-",
        ],
        "the client's address; Rails believes Client-IP, other libraries the rest",
    ),
    (
        &[
            "cf-connecting-ip",
            "cf-connecting-ipv6",
            "cf-pseudo-ipv4",
            "cf-ipcountry",
            "cf-visitor",
            "cloudfront-",
            "fastly-client-ip",
            "fly-client-ip",
            "do-connecting-ip",
            "x-nf-client-connection-ip",
            "x-vercel-",
            "x-appengine-",
            "x-azure-",
        ],
        "what a CDN or a platform says of the client: its address, its country, its scheme",
    ),
    (&["front-end-https", "x-url-scheme", "x-scheme", "x-arr-ssl"], "that the client came with TLS"),
    (
        &[
            "x-original-url",
            "x-original-uri",
            "x-original-host",
            "x-original-proto",
            "x-original-method",
            "x-original-remote-addr",
            "x-original-forwarded-for",
            "x-rewrite-url",
            "x-script-name",
        ],
        "the request as it was before the proxy changed it: access rules for paths are passed by with it",
    ),
    (
        &["x-sendfile-type", "x-accel-mapping"],
        "Rack::Sendfile answers with a path instead of a file, which the proxy may open (CVE-2025-61780)",
    ),
    (
        &[
            "remote-",
            "x-remote-",
            "x-proxy-remote-user",
            "x-auth-request-",
            "x-authenticated-",
            "x-authentik-",
            "x-webauth-",
            "x-pomerium-",
            "x-vouch-",
            "x-shib-",
            "x-amzn-oidc-",
            "x-goog-authenticated-",
            "x-goog-iap-",
            "x-ms-client-principal",
            "x-ms-client-principal-",
            "x-ms-token-",
            "cf-access-",
            "tailscale-",
        ],
        "who has signed in, as a proxy says that asks for passwords itself",
    ),
    (
        &[
            "ssl-",
            "x-ssl",
            "x-ssl-",
            "client-cert",
            "client-cert-chain",
            "x-client-cert",
            "x-client-cert-",
            "x-client-verify",
            "x-client-dn",
            "x-client-s-dn",
            "x-amzn-mtls-",
            "x-arr-clientcert",
        ],
        "the client's certificate, and that it was checked (RFC 9440 and older names)",
    ),
    (
        &["x-request-start", "x-queue-start", "x-middleware-start"],
        "when the proxy got the request: monitoring takes the time in the queue from it",
    ),
    (&["x-request-id"], "the request's id in the logs of proxy and application"),
];

/// Whether only a proxy may send this header. The name is in lower case, as in a [`HeaderName`](http::HeaderName).
pub(crate) fn contains(name: &str) -> bool {
    // The first three letters rule out nearly all names of ordinary requests.
    if !name.as_bytes().first_chunk().is_some_and(|first| BEGINNINGS[place(*first)]) {
        return false;
    }
    let covers = |one: &str| if one.ends_with('-') { name.starts_with(one) } else { name == one };
    TABLE.iter().any(|(names, _)| names.iter().any(|one| covers(one)))
}

const LETTERS: usize = 32;

/// Index of three letters in [`BEGINNINGS`]; other characters share an index with some letter.
const fn place(first: [u8; 3]) -> usize {
    let [one, two, three] = first;
    (one as usize % LETTERS * LETTERS + two as usize % LETTERS) * LETTERS + three as usize % LETTERS
}

/// Whether any name in the table begins with these three letters.
static BEGINNINGS: [bool; LETTERS.pow(3)] = {
    let mut found = [false; LETTERS.pow(3)];
    let mut row = 0;
    while row < TABLE.len() {
        let names = TABLE[row].0;
        let mut at = 0;
        while at < names.len() {
            if let Some(first) = names[at].as_bytes().first_chunk() {
                found[place(*first)] = true;
            }
            at += 1;
        }
        row += 1;
    }
    found
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_beginnings_are_found_and_what_clients_say_themselves_is_not() {
        for name in [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-anything",
            "client-ip",
            "remote-user",
            "x-remote-user",
            "ssl-client-cert",
            "x-sendfile-type",
            "x-ms-client-principal-name",
            "x-request-id",
        ] {
            assert!(contains(name), "{name}");
        }
        for name in TABLE.iter().flat_map(|(names, _)| *names) {
            assert!(contains(&name.to_lowercase()), "{name}");
        }
        for name in [
            "",
            "x",
            "host",
            "cookie",
            "x-requested-with",
            "x-csrf-token",
            "x-http-method-override",
            "x-client-version",
            "x-original-filename",
            "x-ms-date",
            "x-auth-token",
            "forwarded-for-me",
            "via",
            "referer",
            "sec-fetch-site",
            "client-ips",
            "traceparent",
        ] {
            assert!(!contains(name), "{name}");
        }
    }

    #[test]
    fn the_docs_have_the_same_table() {
        let docs = include_str!("../../../../docs/deploying.md");
        for (names, why) in TABLE {
            let names: Vec<String> = names
                .iter()
                .map(|name| if name.ends_with('-') { format!("`{name}...`") } else { format!("`{name}`") })
                .collect();
            let row = format!("| {} | {why} |", names.join(", "));
            assert!(docs.to_lowercase().contains(&row.to_lowercase()), "docs/deploying.md lacks\n{row}");
        }
    }
}
