import HTTPTypes

extension HTTPReply {
    /// The body's type in lower case and without parameters; empty if the answer doesn't state one.
    package var contentType: String {
        let field = response.headerFields[.contentType]?.lowercased() ?? ""
        return String(field.prefix { $0 != ";" && $0 != " " })
    }

    /// Whether the body is a page for a person, such as a captive portal's answer in place of the vendor's.
    ///
    /// The content type doesn't tell: many frameworks label any text `text/html`, and an event that was delivered but
    /// isn't recognized as such is sent again without end.
    package var isPage: Bool { body.first { !$0.isBlank } == UInt8(ascii: "<") }

    /// Whether the body holds nothing but spaces, line breaks and a byte order mark.
    package var isBlank: Bool { body.allSatisfy(\.isBlank) }
}

extension UInt8 {
    fileprivate var isBlank: Bool {
        self == 0x20 || (0x09...0x0D).contains(self) || self == 0xEF || self == 0xBB || self == 0xBF
    }
}
