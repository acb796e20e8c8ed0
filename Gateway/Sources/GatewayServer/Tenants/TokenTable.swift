/// The holders of tokens.
struct TokenTable<Holder: Sendable>: Sendable {
    private let entries: [(digest: TokenDigest, holder: Holder)]

    init(_ entries: [(TokenDigest, Holder)]) { self.entries = entries }

    /// Returns the holder of a token; `nil` if there is none.
    func holder(of token: String) -> Holder? { holder(of: TokenDigest(of: token)) }

    /// Returns the holder of a token by its digest; `nil` if there is none.
    ///
    /// Checks every entry, so that timing doesn't reveal which one matched.
    func holder(of digest: TokenDigest) -> Holder? {
        var found: Holder?
        for entry in entries where entry.digest == digest { found = entry.holder }
        return found
    }
}

/// The token that a connection sent last, with its digest: most connections send one token again and again, and
/// computing a digest takes longer than evaluating a flag.
struct LastToken {
    private var token: [UInt8] = []
    private var digest: TokenDigest?

    /// The digest of a token.
    ///
    /// The comparison takes a time that depends only on the lengths: behind a proxy, the last token may be another
    /// client's.
    mutating func digest(of token: String) -> TokenDigest {
        if let digest, token.utf8.count == self.token.count {
            var difference: UInt8 = 0
            for (one, other) in zip(token.utf8, self.token) { difference |= one ^ other }
            if difference == 0 { return digest }
        }
        let digest = TokenDigest(of: token)
        (self.token, self.digest) = (Array(token.utf8), digest)
        return digest
    }
}
