import Foundation
import MockVendors
import Testing

@Suite("The mock Engage answers as the vendor does")
struct EngageMockTests {
    let mock = EngageMock()

    private func post(_ path: String, _ body: String, type: String, token: String? = nil) async -> (Int, String) {
        var headers = [MockRequest.Header("Content-Type", type)]
        if let token { headers.append(.init("Authorization", "Bearer \(token)")) }
        let request = MockRequest(method: "POST", path: path, headers: headers, body: Array(body.utf8))
        let response = await mock.respond(to: request)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    private let form = "application/x-www-form-urlencoded"
    private let login = "grant_type=refresh_token&client_id=client&client_secret=secret&refresh_token=refresh"

    private func call(_ xml: String) async -> String {
        _ = await post("/oauth/token", login, type: form)
        let encoded = xml.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return await post("/XMLAPI", "xml=\(encoded)", type: form, token: "at-0001").1
    }

    @Test(
        "the token endpoint checks every field",
        arguments: [
            ("client_id=client", "client_id=x", 401, "invalid_client"),
            ("secret=secret", "secret=x", 401, "invalid_client"),
            ("refresh_token=refresh", "refresh_token=x", 400, "invalid_grant"),
            ("&client_id=client", "", 400, "invalid_request"),
            ("grant_type=refresh_token", "grant_type=password", 400, "unsupported_grant_type"),
        ]
    )
    func token(part: String, other: String, status: Int, error: String) async {
        let answer = await post("/oauth/token", login.replacing(part, with: other, maxReplacements: 1), type: form)
        #expect(answer.0 == status)
        #expect(answer.1.contains(error))
    }

    @Test("without a valid token nothing is accepted")
    func noToken() async {
        #expect(await post("/XMLAPI", "xml=", type: form).0 == 401)
        #expect(await post("/rest/events/submission", "{}", type: "application/json", token: "at-0001").0 == 401)
    }

    @Test(
        "faults have HTTP 200 and the vendor's code",
        arguments: [
            ("", 50), ("<Envelope>", 51), ("<envelope><Body><GetLists/></Body></envelope>", 51),
            ("<Envelope><body><GetLists/></body></Envelope>", 51), ("<Envelope><Body><LOGIN/></Body></Envelope>", 51),
            ("<!DOCTYPE x><Envelope><Body><GetLists/></Body></Envelope>", 51),
            ("<Envelope><Body><SendMailing/></Body></Envelope>", 150),
            ("<Envelope><Body><AddRecipient><LIST_ID>x</LIST_ID></AddRecipient></Body></Envelope>", 310),
            ("<Envelope><Body><AddRecipient><LIST_ID>1</LIST_ID></AddRecipient></Body></Envelope>", 108),
            (
                "<Envelope><Body><AddRecipient><LIST_ID>23949</LIST_ID><UPDATE_IF_FOUND>x</UPDATE_IF_FOUND></AddRecipient></Body></Envelope>",
                119
            ),
            (
                "<Envelope><Body><AddRecipient><LIST_ID>23949</LIST_ID><COLUMN><VALUE/></COLUMN></AddRecipient></Body></Envelope>",
                316
            ),
            (
                "<Envelope><Body><UpdateRecipient><LIST_ID>23949</LIST_ID><RECIPIENT_ID>5</RECIPIENT_ID></UpdateRecipient></Body></Envelope>",
                123
            ),
            (
                "<Envelope><Body><AddListColumn><LIST_ID>23949</LIST_ID><COLUMN_NAME>Email</COLUMN_NAME><COLUMN_TYPE>0</COLUMN_TYPE></AddListColumn></Body></Envelope>",
                101
            ),
        ]
    )
    func faults(xml: String, code: Int) async {
        #expect(await call(xml).contains("<errorid>\(code)</errorid>"))
    }

    @Test("a declaration, an empty Boolean and bare sync fields are accepted, as third-party clients send them")
    func tolerance() async {
        let add =
            "<?xml version=\"1.0\"?><Envelope><Body><AddRecipient><LIST_ID>23949</LIST_ID><UPDATE_IF_FOUND/>"
            + "<SYNC_FIELDS><NAME>EMAIL</NAME><VALUE>a@example.test</VALUE></SYNC_FIELDS>"
            + "<COLUMN><NAME>EMAIL</NAME><VALUE>a@example.test</VALUE></COLUMN></AddRecipient></Body></Envelope>"
        let first = await call(add)
        #expect(first.contains("<RecipientId>100000</RecipientId>"))
        #expect(await call(add) == first)
    }

    @Test("a keyed list rejects a second recipient with the same key")
    func keyed() async throws {
        try await mock.load(Data(#"{"lists":[{"id":1,"key":"Email","columns":[{"name":"Email"}]}]}"#.utf8))
        let add =
            "<Envelope><Body><AddRecipient><LIST_ID>1</LIST_ID><COLUMN><NAME>Email</NAME><VALUE>a@example.test</VALUE></COLUMN></AddRecipient></Body></Envelope>"
        #expect(await call(add).contains("TRUE"))
        #expect(await call(add).contains("<errorid>122</errorid>"))
        let none = "<Envelope><Body><AddRecipient><LIST_ID>1</LIST_ID></AddRecipient></Body></Envelope>"
        #expect(await call(none).contains("<errorid>121</errorid>"))
    }

    @Test(
        "an invalid world is rejected with its position, and changes nothing",
        arguments: [
            ("", "the world"), ("{", "the world"), (#"{"lists":[{}]}"#, "id"),
            (#"{"lists":[{"id":1,"key":"x"}]}"#, "lists[1].key"),
            (#"{"lists":[{"id":1},{"id":1}]}"#, "the id 1"),
            (#"{"lists":[{"id":1,"columns":[{"name":"EMAIL"},{"name":"Email"}]}]}"#, "lists[1].columns"),
        ]
    )
    func worlds(json: String, place: String) async {
        let error = await #expect(throws: MockWorldError.self) { try await mock.load(Data(json.utf8)) }
        #expect(error?.description.contains(place) == true)
        #expect(mock.credentials["listID"] == "23949")
    }

    @Test("behaviours are accepted completely or not at all, and repetitions are recognized")
    func behaviors() async {
        _ = await post("/oauth/token", login, type: form)
        func submit(_ body: String) async -> Int {
            await post("/rest/events/submission", body, type: "application/json", token: "at-0001").0
        }
        let good =
            #"{"eventTypeCode":"17","eventTimestamp":"2015-02-03T18:04:05.678Z","attributes":[{"name":"a","value":"b"}]}"#
        #expect(await submit(#"{"events":[\#(good),\#(good)]}"#) == 202)
        #expect(await submit(#"{"events":[\#(good),{"attributes":[]}]}"#) == 400)
        #expect(await submit(#"{"events":[{"eventTypeCode":17}]}"#) == 400)
        #expect(await submit("{") == 400)
        let answer = await mock.control(MockRequest(method: "GET", path: "/behaviors"))
        let text = String(decoding: answer?.body ?? [], as: UTF8.self)
        #expect(text.contains(#""duplicates":1"#) && text.contains(#""refused":3"#))
    }
}
