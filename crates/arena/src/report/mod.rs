//! What a summary looks like: tables, pictures, the page, comparisons, the README's tables.
