/// A failure as the vendor reports it: HTTP 200 with a code in the body.
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

    /// The XML document that reports the fault.
    var document: String {
        // The vendor pads the text with blanks; clients must trim it.
        "<Envelope><Body><RESULT><SUCCESS>false</SUCCESS></RESULT><Fault><Request/><FaultCode/>"
            + "<FaultString><![CDATA[ \(text.replacing("]]>", with: "]]]]><![CDATA[>")) ]]></FaultString>"
            + "<detail><error><errorid>\(code)</errorid><module/><class>\(origin)</class><method/></error></detail>"
            + "</Fault></Body></Envelope>"
    }
}

/// A scripted fault of the XML interface, in addition to the server's own fault script.
struct EngageScriptedFault: Sendable, Hashable, Codable {
    /// The operation's name; `nil` for any.
    var operation: String?
    /// The code in the fault.
    var code: Int
    /// The text in the fault.
    var text: String?
    /// How many calls succeed first.
    var after: Int?
    /// How many calls it affects; one if omitted.
    var times: Int?
    /// Whether the operation is carried out before it is reported as failed.
    var applied: Bool?
}
