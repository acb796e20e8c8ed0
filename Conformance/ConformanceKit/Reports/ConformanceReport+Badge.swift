import Experimentation

extension ConformanceReport.Subject {
    /// The declared and the verified capabilities as a badge: a self-contained SVG.
    ///
    /// Deliberately not a score: an adapter that declares little and keeps it lacks nothing.
    public func badge() -> String {
        let failures = results.count { $0.outcome.isFailure }
        let message = "declares \(capabilities.count), verified \(verified.count)"
        let isGood = failures == 0 && verified.count == capabilities.count
        let color = isGood ? "#19733a" : failures > 0 ? "#b3261e" : "#8a5a00"
        let (left, right) = (Self.width(of: "conformance"), Self.width(of: message))
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(left + right)" height="20" role="img" \
            aria-label="conformance: \(message)">
            <title>\(name.escaped): \(message)</title>
            <rect width="\(left)" height="20" fill="#555"/><rect x="\(left)" width="\(right)" height="20" fill="\(color)"/>
            <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
            <text x="\(left / 2)" y="14">conformance</text><text x="\(left + right / 2)" y="14">\(message)</text>
            </g></svg>

            """
    }

    private static func width(of text: String) -> Int { text.count * 7 + 10 }
}
