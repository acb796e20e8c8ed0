import Foundation
import MockVendors
import Testing

@Suite("The mock Engage is as strict as the vendor")
struct EngageMockStrictnessTests {
    let mock = EngageMock()

    private func post(_ path: String, _ body: String, type: String) async -> String {
        let headers = [
            MockRequest.Header("Content-Type", type), MockRequest.Header("Authorization", "Bearer at-0001"),
        ]
        let request = MockRequest(method: "POST", path: path, headers: headers, body: Array(body.utf8))
        return String(decoding: await mock.respond(to: request).body, as: UTF8.self)
    }

    private func signIn() async {
        let login = "grant_type=refresh_token&client_id=client&client_secret=secret&refresh_token=refresh"
        _ = await post("/oauth/token", login, type: "application/x-www-form-urlencoded")
    }

    /// The fault code in the answer to an operation; 0 for none.
    private func fault(_ operation: String) async -> Int {
        let xml = "<Envelope><Body>\(operation)</Body></Envelope>"
        let encoded = xml.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let answer = await post("/XMLAPI", "xml=\(encoded)", type: "application/x-www-form-urlencoded")
        return answer.firstMatch(of: /<errorid>(\d+)</).flatMap { Int($0.output.1) } ?? 0
    }

    private static func columns(_ values: [(String, String)]) -> String {
        values.map { "<COLUMN><NAME>\($0.0)</NAME><VALUE>\($0.1)</VALUE></COLUMN>" }.joined()
    }

    private static let typed = """
        {"lists":[{"id":1,"columns":[{"name":"Email"},{"name":"Text"},{"name":"Flag","type":1},{"name":"Number","type":2},
          {"name":"Date","type":3},{"name":"Time","type":4},{"name":"Stamp","type":17},{"name":"Any","type":20}],
          "recipients":[{"id":7,"values":{}}]}]
        """

    static let values: [(column: String, good: [String], bad: [String])] = [
        ("Email", ["ann@example.test"], ["ann", "@example.test", "ann@", "a b@example.test"]),
        ("Text", ["anything at all"], []),
        ("Flag", ["true", "No", "1"], ["perhaps", "2"]),
        ("Number", ["-1.5", "7"], ["seven", "1,5", "0x10", "nan"]),
        (
            "Date", ["02/03/2015 18:04:05 GMT", "2015-02-03", "02-03-2015"],
            ["today", "02/30/2015", "13/01/2015", "2015-02-03T18:04:05Z", "02/03/2015 25:00:00", "02/03/2015 1 2 3"]
        ),
        ("Time", ["18:04:05", "18:04"], ["six", "24:00:00"]),
        ("Stamp", ["02/03/2015 18:04:05"], ["now"]),
        ("Any", ["a;b"], []),
    ]

    @Test("a column accepts values of its type and clearing; anything else is a fault", arguments: values)
    func types(column: String, good: [String], bad: [String]) async throws {
        try await mock.load(Data("\(Self.typed)}".utf8))
        await signIn()
        for (values, code) in [(good + [""], 0), (bad, column == "Email" ? 1017 : 120)] {
            for value in values {
                let columns = Self.columns([(column, value)])
                let update =
                    "<UpdateRecipient><LIST_ID>1</LIST_ID><RECIPIENT_ID>7</RECIPIENT_ID>\(columns)</UpdateRecipient>"
                #expect(await fault(update) == code, "\(column) = \(value)")
                #expect(await fault("<AddRecipient><LIST_ID>1</LIST_ID>\(columns)</AddRecipient>") == code)
            }
        }
    }

    @Test("type checks can be turned off, since no document says what the vendor answers")
    func unchecked() async throws {
        try await mock.load(Data("\(Self.typed),\"settings\":{\"strictColumnTypes\":false}}".utf8))
        await signIn()
        let columns = Self.columns([("Date", "today"), ("Email", "ann")])
        #expect(await fault("<AddRecipient><LIST_ID>1</LIST_ID>\(columns)</AddRecipient>") == 0)
    }

    @Test("on a list keyed by address, no address can be changed by id, nor to another recipient's")
    func keyedAddress() async throws {
        try await mock.load(
            Data(
                """
                {"lists":[{"id":1,"key":"Email","columns":[{"name":"Email"}],"recipients":[
                  {"id":7,"values":{"Email":"ann@example.test"}},{"id":8,"values":{"Email":"ben@example.test"}}]}]}
                """.utf8
            )
        )
        await signIn()
        func update(_ selector: String, to address: String) async -> Int {
            let columns = Self.columns([("EMAIL", address)])
            return await fault("<UpdateRecipient><LIST_ID>1</LIST_ID>\(selector)\(columns)</UpdateRecipient>")
        }
        #expect(await update("<RECIPIENT_ID>7</RECIPIENT_ID>", to: "new@example.test") == 326)
        #expect(await update("<RECIPIENT_ID>7</RECIPIENT_ID>", to: "") == 326)
        #expect(await update("<RECIPIENT_ID>7</RECIPIENT_ID>", to: "ann@example.test") == 0)
        #expect(await update("<OLD_EMAIL>ann@example.test</OLD_EMAIL>", to: "ben@example.test") == 122)
        #expect(await update("<OLD_EMAIL>ann@example.test</OLD_EMAIL>", to: "new@example.test") == 0)
        #expect(await fault("<UpdateRecipient><LIST_ID>1</LIST_ID><OLD_EMAIL/></UpdateRecipient>") == 100)
    }

    @Test("a key other than the address is also unique")
    func keyedColumn() async throws {
        try await mock.load(
            Data(
                """
                {"lists":[{"id":1,"key":"Number","columns":[{"name":"Number"}],"recipients":[
                  {"id":7,"values":{"Number":"A"}},{"id":8,"values":{"Number":"B"}}]}]}
                """.utf8
            )
        )
        await signIn()
        let columns = Self.columns([("Number", "B")])
        let update = "<UpdateRecipient><LIST_ID>1</LIST_ID><RECIPIENT_ID>7</RECIPIENT_ID>\(columns)</UpdateRecipient>"
        #expect(await fault(update) == 122)
    }

    @Test(
        "an empty value matches no recipient",
        arguments: ["SelectRecipientData", "RemoveRecipient", "OptOutRecipient"]
    )
    func emptyCriterion(operation: String) async throws {
        try await mock.load(Data("\(Self.typed)}".utf8))
        await signIn()
        let columns = Self.columns([("Text", "")])
        #expect(await fault("<\(operation)><LIST_ID>1</LIST_ID>\(columns)</\(operation)>") == 128)
        #expect(await fault("<\(operation)><LIST_ID>1</LIST_ID><EMAIL/></\(operation)>") == 100)
    }

    private func submit(_ members: String) async throws -> (recipients: [Int?], flaws: [String]) {
        let event = #"{"eventTypeCode":"17",\#(members)}"#
        _ = await post("/rest/events/submission", #"{"events":[\#(event)]}"#, type: "application/json")
        let answer = try #require(await mock.control(MockRequest(method: "GET", path: "/behaviors")))
        struct Picture: Decodable {
            struct Behavior: Decodable { var recipient: Int? }
            struct Flaw: Decodable { var description: String }
            var taken: [Behavior]
            var flaws: [Flaw]
        }
        let picture = try JSONDecoder().decode(Picture.self, from: Data(answer.body))
        return (picture.taken.map(\.recipient), picture.flaws.map(\.description))
    }

    private static let when = #""eventTimestamp":"2015-02-03T18:04:05.678Z""#

    @Test("an unknown contact id is recorded as a flaw, whatever else the behaviour contains")
    func contact() async throws {
        let world = """
            {"lists":[{"id":1,"columns":[{"name":"Mobile User Id"}],"recipients":[{"id":7,"values":{"Mobile User Id":"M"}}]}]
            """
        let attributes = #""attributes":[{"name":"Recipient Id","value":"7"}]"#
        for (contact, isStrict, recipients, flaws) in [
            (#""contactId":"7","#, true, [7], 0), (#""contactId":7,"#, true, [7], 0),
            (#""contactId":"M","#, true, [7], 0), ("", true, [7], 0), (#""contactId":"8","#, true, [nil], 1),
            (#""contactId":"","#, true, [nil], 1), (#""contactId":"8","#, false, [7], 0),
        ] as [(String, Bool, [Int?], Int)] {
            try await mock.load(Data("\(world),\"settings\":{\"strictContacts\":\(isStrict)}}".utf8))
            await signIn()
            let found = try await submit("\(contact)\(Self.when),\(attributes)")
            #expect(found.recipients == recipients && found.flaws.count == flaws, "\(contact) \(found)")
        }
    }

    @Test(
        "an invalid time is recorded as a flaw",
        arguments: [
            ("2015-02-03T18:04:05.678Z", true), ("2015-02-03T18:04:05Z", true), ("2015-02-03T18:04:05+01:00", true),
            ("2015-02-30T18:04:05Z", false), ("2015-02-03 18:04:05", false), ("02/03/2015 18:04:05 GMT", false),
            ("1423000000", false), ("", false), ("2015-02-03T18:04:05", false),
        ]
    )
    func timestamp(text: String, isOne: Bool) async throws {
        await signIn()
        let found = try await submit(#""eventTimestamp":"\#(text)","attributes":[]"#)
        #expect(found.flaws.isEmpty == isOne)
    }
}
