import Foundation

/// Why a request carries no event.
enum EvergageRefusal: Error, Hashable {
    /// The bytes are not an event in any of the accepted forms.
    case unreadable
    /// The body is larger than 1 MiB, before or after decompression.
    case tooLarge
}

/// Decodes the event of a request: a JSON body, or the parameter `event` of a form or the query.
enum EvergageDecoding {
    static let largestBody = 1 << 20

    static func event(of request: MockRequest) throws(EvergageRefusal) -> EvergageJSON {
        if request.method == "GET" {
            guard let text = request.queryItem("event"), let event = fromBase64(text) else { throw .unreadable }
            return try object(event)
        }
        let body = try body(of: request)
        let type = request.header("Content-Type")?.split(separator: ";").first?
            .trimmingCharacters(in: .whitespaces).lowercased()
        switch type {
        case nil, "application/json", "text/plain":
            guard let event = EvergageJSON(parsing: body) else { throw .unreadable }
            return try object(event)
        case "application/x-www-form-urlencoded":
            let items = FormEncoding.decode(String(decoding: body, as: UTF8.self))
            // The vendor documents base64, but the live web beacon sends plain JSON: both are in use.
            guard let text = items.first(where: { $0.name == "event" })?.value,
                let event = EvergageJSON(parsing: text.utf8) ?? fromBase64(text)
            else { throw .unreadable }
            return try object(event)
        default: throw .unreadable
        }
    }

    /// The body, decompressed.
    private static func body(of request: MockRequest) throws(EvergageRefusal) -> [UInt8] {
        guard request.body.count <= largestBody else { throw .tooLarge }
        let encoding = request.header("Content-Encoding")?.lowercased() ?? "identity"
        if encoding == "identity" { return request.body }
        guard EvergageMock.contentEncodings.contains(encoding) else { throw .unreadable }
        do { return try EvergageInflate.decompress(request.body, limit: largestBody) } catch {
            throw error == .tooLarge ? .tooLarge : .unreadable
        }
    }

    /// Decodes standard and URL-safe base64, with and without padding; treats a space as a `+` that a query lost.
    static func fromBase64(_ text: String) -> EvergageJSON? {
        var standard = text.replacing(" ", with: "+").replacing("-", with: "+").replacing("_", with: "/")
        while standard.last == "=" { standard.removeLast() }
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        guard !standard.isEmpty, let data = Data(base64Encoded: standard) else { return nil }
        return EvergageJSON(parsing: data)
    }

    /// The parameters of a receiver, which accepts them in the query and in a form.
    static func parameters(of request: MockRequest) -> [String: String] {
        var items = request.queryItems
        if request.method == "POST", let body = try? body(of: request) {
            items += FormEncoding.decode(String(decoding: body, as: UTF8.self))
        }
        return Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    private static func object(_ value: EvergageJSON) throws(EvergageRefusal) -> EvergageJSON {
        guard value.object != nil else { throw .unreadable }
        return value
    }
}
