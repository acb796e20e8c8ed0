/// A failure in the vendor's own words: HTTP 200, and a code in the body.
struct EngageFault: Error, Sendable, Hashable {
    var code: Int
    var text: String
    var origin = "SP.ListManager"

    init(_ code: Int, _ text: String, origin: String = "SP.ListManager") {
        self.code = code
        self.text = text
        self.origin = origin
    }

    static let invalidRequest = EngageFault(51, "Invalid XML Request", origin: "SP.API")
    static let serverError = EngageFault(50, "Server Error", origin: "SP.API")
    static func missing(_ parameter: String) -> EngageFault {
        EngageFault(100, "\(parameter) is required", origin: "SP.API")
    }

    /// The document that says so.
    var document: String {
        // The blank around the text is the vendor's; a client has to trim it.
        "<Envelope><Body><RESULT><SUCCESS>false</SUCCESS></RESULT><Fault><Request/><FaultCode/>"
            + "<FaultString><![CDATA[ \(text.replacing("]]>", with: "]]]]><![CDATA[>")) ]]></FaultString>"
            + "<detail><error><errorid>\(code)</errorid><module/><class>\(origin)</class><method/></error></detail>"
            + "</Fault></Body></Envelope>"
    }
}

/// A fault that somebody asked for, beside what the server's own script can do.
struct EngageScriptedFault: Sendable, Hashable, Codable {
    /// The operation's name; `nil` for any.
    var operation: String?
    /// The code in the fault.
    var code: Int
    /// The text in the fault.
    var text: String?
    /// How many calls go well before.
    var after: Int?
    /// How many calls it befalls; once if left out.
    var times: Int?
    /// Whether the operation is carried out before it is called a failure.
    var applied: Bool?
}
