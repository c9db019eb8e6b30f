//! Chunked bodies that are accepted or refused, and the bytes of them that hyper gets.

use super::*;

/// Feeds a body in pieces of this size; returns hyper's bytes and their number, or `None` if the body is incomplete.
fn fed(body: &[u8], piece: usize) -> Result<Option<(usize, Vec<u8>)>, &'static str> {
    let mut chunks = Chunks::new(100);
    let mut kept = Vec::new();
    let mut taken = 0;
    for part in body.chunks(piece) {
        let start = kept.len();
        kept.extend_from_slice(part);
        let fed = chunks.feed(&mut kept, start).map_err(|refusal| refusal.why)?;
        if fed.is_done {
            let behind = kept.len() - start - fed.bytes;
            kept.truncate(start + fed.bytes);
            return Ok(Some((taken + part.len() - behind, kept)));
        }
        assert_eq!(kept.len(), start + fed.bytes);
        taken += part.len();
    }
    Ok(None)
}

#[test]
fn the_end_is_found_however_the_bytes_arrive() {
    let body = b"5\r\nhello\r\n1 ;a=\"b\"\r\n!\r\n0;last\r\nx: y\r\nz:\r\n\r\nGET / HTTP/1.1\r\n";
    let len = body.len() - 16;
    for piece in 1..body.len() {
        let (taken, kept) = fed(body, piece).unwrap().unwrap();
        assert_eq!((taken, kept.as_slice()), (len, &b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"[..]), "{piece}");
    }
    assert_eq!(fed(b"0\r\n\r\n", 9), Ok(Some((5, b"0\r\n\r\n".to_vec()))));
    assert_eq!(fed(b"5\r\nhell", 9), Ok(None));
}

#[test]
fn extensions_are_names_with_values() {
    for extension in ["a", "a=b", "a=\"\"", "a=\"b \\\" c\"", " a", "\ta = b", "a ;b", "a;b;c", "a=b ; c = \"d\""] {
        assert!(fed(format!("1;{extension}\r\nx\r\n0\r\n\r\n").as_bytes(), 99).unwrap().is_some(), "{extension}");
        let spaced = format!("1 \t;{extension}\r\nx\r\n0 ;{extension}\r\n\r\n");
        assert_eq!(fed(spaced.as_bytes(), 99).unwrap().unwrap().1, b"1\r\nx\r\n0\r\n\r\n", "{extension}");
    }
    for extension in ["", " ", "a=", "a=b=c", "=b", "bad[=x", "a b", "a;", "a=\"b", "a=\"b\"c", "a,b", "a=b ", "a "] {
        let why = fed(format!("1;{extension}\r\nx\r\n0\r\n\r\n").as_bytes(), 99);
        assert_eq!(why, Err("a chunk extension is not a name with a value"), "{extension}");
    }
}

#[test]
fn values_of_extensions_end_where_they_are_quoted_or_not() {
    for value in ["b", "\"b\"", "\"b\" ", "\"\té\"", "\"\\\té\"", "\";\\\\\""] {
        let body = format!("1;a={value};c\r\nx\r\n0\r\n\r\n");
        assert_eq!(fed(body.as_bytes(), 99).unwrap().unwrap().1, b"1\r\nx\r\n0\r\n\r\n", "{value}");
    }
    for value in ["\"\u{1}\"", "\"\u{7f}\"", "\"\\\u{1}\"", "é", "\u{7f}"] {
        assert!(fed(format!("1;a={value}\r\nx\r\n0\r\n\r\n").as_bytes(), 99).is_err(), "{}", value.escape_debug());
    }
}

#[test]
fn sizes_are_hexadecimal_in_either_case_with_up_to_fifteen_digits() {
    for (size, length) in [("a", 10), ("A", 10), ("1f", 0x1f), ("bCdE", 0xbcde), ("00000000000000F", 15)] {
        let body = format!("{size}\r\n{}\r\n0\r\n\r\n", "x".repeat(length));
        assert_eq!(fed(body.as_bytes(), 999).unwrap().map(|(taken, _)| taken), Some(body.len()), "{size}");
    }
    assert!(fed(b"00000000000000001\r\nx\r\n0\r\n\r\n", 99).is_err());
}

/// Their limit is that of a head, and never less than that of a size line.
#[test]
fn trailers_may_have_any_text_and_as_many_bytes_as_their_limit() {
    assert!(fed("0\r\nx:\té ~\r\ny:z\r\n\r\n".as_bytes(), 99).unwrap().is_some());
    for (limit, most) in [(100, SIZE_LINE), (10_000, 10_000)] {
        for (bytes, is_allowed) in [(most, true), (most + 1, false)] {
            // The name, the colon and both line ends count.
            let mut body = format!("0\r\nx:{}\r\n\r\n", "y".repeat(bytes - 6)).into_bytes();
            let fed = Chunks::new(limit).feed(&mut body, 0);
            let status = fed.map_or_else(|refusal| refusal.status, |_| StatusCode::OK);
            let wanted = if is_allowed { StatusCode::OK } else { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE };
            assert_eq!(status, wanted, "{bytes} bytes where {limit} are allowed");
        }
    }
}

#[test]
fn signed_chunks_may_go_on_for_ever_and_extensions_without_data_may_not() {
    let signed = format!("400;chunk-signature={}\r\n{}\r\n", "a".repeat(64), "x".repeat(0x400)).repeat(1000);
    assert_eq!(fed((signed + "0\r\n\r\n").as_bytes(), 999).unwrap().unwrap().1.len(), 1000 * (5 + 0x400 + 2) + 5);
    let empty = format!("1;a={}\r\nx\r\n", "a".repeat(1000)).repeat(20);
    assert_eq!(fed(empty.as_bytes(), 999), Err("there are more chunk extensions than data"));
}

#[test]
fn the_limits_of_size_lines_and_extensions_are_exact() {
    // The line with its carriage return and line feed.
    for (spare, wanted) in [(0, Ok(())), (1, Err("the line with a chunk's size is too long"))] {
        let body = format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(SIZE_LINE - 4 + spare));
        assert_eq!(fed(body.as_bytes(), 999).map(drop), wanted, "{spare} too many");
    }
    // An extension counts with its semicolon. The one byte of data in each chunk is subtracted.
    let most = "1;a=".to_owned() + &"b".repeat(4000 - 3) + "\r\nx\r\n";
    let left = EXCESS as usize - 4 * 3999;
    for (spare, wanted) in [(0, Ok(())), (1, Err("there are more chunk extensions than data"))] {
        let body = format!("{}1;{}\r\nx\r\n0\r\n\r\n", most.repeat(4), "a".repeat(left - 1 + spare));
        assert_eq!(fed(body.as_bytes(), 999).map(drop), wanted, "{spare} too many");
    }
}

/// Others are among the hostile requests (`tests/hostile.rs`).
#[test]
fn what_the_grammar_does_not_allow_is_refused() {
    let long = [b"1;".to_vec(), vec![b'a'; SIZE_LINE]].concat();
    let trailers = [b"0\r\nx: ".to_vec(), vec![b'a'; SIZE_LINE]].concat();
    let bodies: [&[u8]; 17] = [
        b"+1\r\n",
        b" 1\r\n",
        b"1 1\r\n",
        b"1\t;\r\n",
        b" ;a\r\n",
        b"1\r\na\n",
        b"1000000000000000\r\n",
        b"0\r\n\n",
        b"0\r\n\rx",
        b"1\rx",
        b"0\r\nfoo bar\r\n\r\n",
        b"0\r\nfoo\r\n\r\n",
        b"0\r\nX(Y: z\r\n\r\n",
        b"0\r\nx : y\r\n\r\n",
        b"0\r\nx: y\r\n z\r\n\r\n",
        &long,
        &trailers,
    ];
    for body in bodies {
        assert!(fed(body, 7).is_err(), "{}", body.escape_ascii());
    }
    assert_eq!(fed(b"0\r\n\rx", 7), Err("the chunked body does not end in an empty line"));
}
