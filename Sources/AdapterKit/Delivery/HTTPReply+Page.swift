import HTTPTypes

extension HTTPReply {
    /// Whether the body is a page for a person: what a captive portal answers instead of the vendor.
    ///
    /// It is one by its type, or by its first character. An answer without a body is none, whatever its type.
    package var isPage: Bool {
        guard let first = body.first(where: { !$0.isBlank }) else { return false }
        let type = response.headerFields[.contentType]?.lowercased() ?? ""
        return type.hasPrefix("text/html") || type.hasPrefix("application/xhtml") || first == UInt8(ascii: "<")
    }

    /// Whether the body holds nothing but spaces, line breaks and a byte order mark.
    package var isBlank: Bool { body.allSatisfy(\.isBlank) }
}

extension UInt8 {
    fileprivate var isBlank: Bool {
        self == 0x20 || (0x09...0x0D).contains(self) || self == 0xEF || self == 0xBB || self == 0xBF
    }
}
