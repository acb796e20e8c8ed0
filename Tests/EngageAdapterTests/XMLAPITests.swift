import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import EngageAdapter

@Suite("The XML interface")
struct XMLAPITests {
    let bench = EngageWorkbench()
    let list = "23949"

    // MARK: The envelope

    static let documents: [(XMLAPI, String)] = [
        (
            .selectRecipient(id: "100001", list: "23949"),
            "<SelectRecipientData><LIST_ID>23949</LIST_ID><RECIPIENT_ID>100001</RECIPIENT_ID></SelectRecipientData>"
        ),
        (
            .selectRecipientData(email: "ann@example.test", list: "23949"),
            "<SelectRecipientData><LIST_ID>23949</LIST_ID><EMAIL>ann@example.test</EMAIL><COLUMN><NAME>EMAIL</NAME>"
                + "<VALUE>ann@example.test</VALUE></COLUMN></SelectRecipientData>"
        ),
        (
            .addRecipient(email: "ann@example.test", list: "23949"),
            "<AddRecipient><LIST_ID>23949</LIST_ID><UPDATE_IF_FOUND>true</UPDATE_IF_FOUND><COLUMN><NAME>Email</NAME>"
                + "<VALUE>ann@example.test</VALUE></COLUMN><SYNC_FIELDS><SYNC_FIELD><NAME>Email</NAME>"
                + "<VALUE>ann@example.test</VALUE></SYNC_FIELD></SYNC_FIELDS></AddRecipient>"
        ),
        (
            .addRecipient(mobileUserIDColumn: "Mobile User Id", id: "M-1", list: "23949"),
            "<AddRecipient><LIST_ID>23949</LIST_ID><COLUMN><NAME>Mobile User Id</NAME><VALUE>M-1</VALUE></COLUMN>"
                + "</AddRecipient>"
        ),
        (.addAnonymousRecipient(list: "23949"), "<AddRecipient><LIST_ID>23949</LIST_ID></AddRecipient>"),
        (
            .updateRecipient(id: "7", list: "23949"),
            "<UpdateRecipient><LIST_ID>23949</LIST_ID><RECIPIENT_ID>7</RECIPIENT_ID></UpdateRecipient>"
        ),
        (
            .addColumn("Last Location Address", list: "23949", type: .text),
            "<AddListColumn><LIST_ID>23949</LIST_ID><COLUMN_NAME>Last Location Address</COLUMN_NAME>"
                + "<COLUMN_TYPE>0</COLUMN_TYPE><DEFAULT></DEFAULT></AddListColumn>"
        ),
        (
            .updateLastKnownLocation(
                recipientID: "7",
                list: "23949",
                address: "UNKNOWN",
                date: "2015-02-03",
                columns: ("Last Location Address", "Last Location Address Time")
            ),
            "<UpdateRecipient><LIST_ID>23949</LIST_ID><RECIPIENT_ID>7</RECIPIENT_ID><COLUMN>"
                + "<NAME>Last Location Address</NAME><VALUE>UNKNOWN</VALUE></COLUMN><COLUMN>"
                + "<NAME>Last Location Address Time</NAME><VALUE>2015-02-03</VALUE></COLUMN></UpdateRecipient>"
        ),
        (
            .insertUpdate(rows: [["Audit Record Id": "A", "Create Date": "x"], [:]], table: "29392"),
            "<InsertUpdateRelationalTable><TABLE_ID>29392</TABLE_ID><ROWS><ROW><COLUMN name=\"Audit Record Id\">"
                + "<![CDATA[A]]></COLUMN><COLUMN name=\"Create Date\"><![CDATA[x]]></COLUMN></ROW><ROW></ROW></ROWS>"
                + "</InsertUpdateRelationalTable>"
        ),
        (
            .optOut(recipientID: "7", list: "23949"),
            "<OptOutRecipient><LIST_ID>23949</LIST_ID><RECIPIENT_ID>7</RECIPIENT_ID></OptOutRecipient>"
        ),
    ]

    @Test("every constructor writes the reference's document", arguments: documents)
    func constructors(call: XMLAPI, body: String) throws {
        #expect(try call.envelope() == "<Envelope><Body>\(body)</Body></Envelope>")
    }

    @Test("adding a name again replaces its value and keeps its position")
    func merging() throws {
        var call = XMLAPI("SelectRecipientData", ["LIST_ID": "1", "EMAIL": "a"])
        call.add(parameters: ["EMAIL": "b", "VISITOR_KEY": "v"])
        call.add(parameter: "LIST_ID", "2")
        call.setRecipientID("9")
        call.setListID("3")
        call.add(columns: ["Customer Id": "1"])
        call.add(column: "Customer Id", "2")
        call.add(column: "customer id", "3")
        call.add(syncFields: ["Email": "b"])
        #expect(
            try call.envelope()
                == "<Envelope><Body><SelectRecipientData><LIST_ID>3</LIST_ID><EMAIL>b</EMAIL><VISITOR_KEY>v</VISITOR_KEY>"
                + "<RECIPIENT_ID>9</RECIPIENT_ID><COLUMN><NAME>Customer Id</NAME><VALUE>2</VALUE></COLUMN><COLUMN>"
                + "<NAME>customer id</NAME><VALUE>3</VALUE></COLUMN><SYNC_FIELDS><SYNC_FIELD><NAME>Email</NAME>"
                + "<VALUE>b</VALUE></SYNC_FIELD></SYNC_FIELDS></SelectRecipientData></Body></Envelope>"
        )
        call.rows = []
        #expect(try call.envelope().contains("</COLUMN><ROWS></ROWS><SYNC_FIELDS>"))
    }

    @Test("an invalid element name is rejected", arguments: ["", "a b", "1a", "a>b", "a\nb", "ä"])
    func names(name: String) {
        let error = #expect(throws: ExperimentationError.self) {
            _ = try XMLAPI(.getLists, XMLAPIFields([name: "x"])).envelope()
        }
        #expect(error?.code == .invalidArgument)
        #expect(throws: ExperimentationError.self) { _ = try XMLAPI(XMLAPIOperation(rawValue: name)).envelope() }
    }

    static let values = [
        "A&B <c>", "]]>", "a]]>b]]>c]", "]]]]>>", "\"quoted\" 'text'", "line\nbreak", "carriage\rreturn\r\n",
        "tab\there",
        "<![CDATA[x]]>", "&amp;", "üñ 😀 \u{0301}", " blanks ", "%26=+&;", "<!DOCTYPE x>", "",
    ]

    @Test("E11 a value survives a round trip", arguments: values)
    func roundTrip(value: String) async throws {
        let engage = bench.engage()
        let id = try #require(
            try await engage.xmlapi.perform(XMLAPI(.addRecipient, ["LIST_ID": list], columns: ["Lname": value]))
                .recipientID
        )
        #expect(try await bench.recipient(id)["Lname"] == value)
        let result = try await engage.xmlapi.perform(.selectRecipient(id: id, list: list))
        // Short paths trim, as the reference does.
        let trimmed = value.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(result.column("Lname") == (trimmed.isEmpty ? nil : trimmed))
    }

    @Test("E12 a row's value survives a round trip", arguments: values)
    func rowRoundTrip(value: String) async throws {
        let engage = bench.engage()
        let row: XMLAPIFields = ["Audit Record Id": "A-1", "Old Recipient Id": value]
        #expect(try await engage.xmlapi.insertUpdate(rows: [row], table: "29392").isEmpty)
        #expect(try await bench.auditRows().first?["Old Recipient Id"] == value)
    }

    @Test(
        "characters removed from a row's value can't end its CDATA section",
        arguments: ["\u{1}", "\u{FFFE}", "\u{0}\u{FFFF}\u{8}"]
    )
    func rowMarkup(dropped: String) async throws {
        let engage = bench.engage()
        for value in ["]]\(dropped)><x/>", "]\(dropped)]\(dropped)><x/>", "]]]\(dropped)>]]>", "]]\(dropped)"] {
            let row: XMLAPIFields = ["Audit Record Id": "A-1", "Old Recipient Id": value]
            #expect(try await engage.xmlapi.insertUpdate(rows: [row], table: "29392").isEmpty)
            let expected = value.replacing(dropped, with: "")
            #expect(try await bench.auditRows().first?["Old Recipient Id"] == expected)
        }
    }

    @Test("an empty value matches no recipient")
    func emptySelection() async throws {
        let engage = bench.engage()
        _ = try await bench.addRecipient(["Lname": "Lee"])
        let call = XMLAPI.selectRecipientData(columns: ["facebook_id": ""], list: list)
        #expect(try await engage.xmlapi.send(call).errorCode == .recipientNotListMember)
    }

    @Test("characters that XML can't represent are left out")
    func controls() async throws {
        let engage = bench.engage()
        let value = "a\u{0}b\u{1}c\u{FFFE}d\u{FFFF}e\u{FFFD}f\u{7F}"
        let call = XMLAPI(.addRecipient, ["LIST_ID": list], columns: ["Lname": value])
        let id = try #require(try await engage.xmlapi.perform(call).recipientID)
        #expect(try await bench.recipient(id)["Lname"] == "abcde\u{FFFD}f\u{7F}")
    }

    @Test("a column name with quotes and line breaks reaches the vendor unchanged, and is rejected there")
    func columnNames() async throws {
        let engage = bench.engage()
        let row: XMLAPIFields = ["Audit Record Id": "A", "a\"b\nc\t<d>&": "x"]
        let failures = try await engage.xmlapi.insertUpdate(rows: [row], table: "29392")
        #expect(failures.map(\.reason) == ["Unknown column: a\"b\nc\t<d>&"])
    }

    @Test("E13 sync fields have a wrapper and columns don't")
    func wrappers() throws {
        let text = try XMLAPI.addRecipient(email: "a", list: list).envelope()
        #expect(text.contains("</UPDATE_IF_FOUND><COLUMN><NAME>"))
        #expect(text.contains("<SYNC_FIELDS><SYNC_FIELD><NAME>"))
        #expect(!text.contains("COLUMNS"))
    }

    @Test("E14 the body is a form with the single field xml")
    func form() async throws {
        let engage = bench.engage()
        try await engage.xmlapi.send(.addAnonymousRecipient(list: list))
        let request = try #require(bench.exchanges("AddRecipient").first?.request)
        let fields = FormEncoding.decode(request.text)
        #expect(fields.map(\.name) == ["xml"])
        #expect(fields.first?.value == (try XMLAPI.addAnonymousRecipient(list: list).envelope()))
        #expect(request.header("Content-Type") == "application/x-www-form-urlencoded; charset=utf-8")
        #expect(request.header("Authorization") == "Bearer at-0001")
        #expect(request.path == "/XMLAPI")
    }

    // MARK: The result

    private func result(_ inner: String) throws -> XMLAPIResult {
        try XMLAPIResult(reading: Array("<Envelope><Body>\(inner)</Body></Envelope>".utf8))
    }

    @Test("E15 these values mean success", arguments: ["TRUE", "true", "SUCCESS", "success", " True\n", "yes", "1"])
    func success(word: String) throws {
        #expect(try result("<RESULT><SUCCESS>\(word)</SUCCESS></RESULT>").isSuccess)
    }

    @Test("these values don't mean success", arguments: ["false", "FALSE", "", "no", "0", "failure"])
    func noSuccess(word: String) throws {
        #expect(try !result("<RESULT><SUCCESS>\(word)</SUCCESS></RESULT>").isSuccess)
    }

    @Test("two results succeed only together")
    func twoResults() throws {
        let good = "<RESULT><SUCCESS>TRUE</SUCCESS></RESULT>"
        #expect(try result(good + good).isSuccess)
        #expect(try !result(good + "<RESULT><SUCCESS>false</SUCCESS></RESULT>").isSuccess)
        #expect(try !result("").isSuccess)
    }

    @Test("E16 a fault isn't success; its text is trimmed and its code read")
    func fault() async throws {
        let engage = bench.engage()
        let result = try await engage.xmlapi.send(.selectRecipient(id: "1", list: list))
        #expect(!result.isSuccess)
        #expect(result.faultText == "Recipient is not a member of the list.")
        #expect(result.errorCode == 128)
        #expect(result.text(at: "Fault.Detail.Error.ErrorId") == "128")
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.xmlapi.perform(.selectRecipient(id: "1", list: list))
        }
        #expect(error?.code == .vendorFault)
        #expect(
            error?.cause as? XMLAPIFault
                == XMLAPIFault(
                    operation: .selectRecipientData,
                    code: 128,
                    text: "Recipient is not a member of the list."
                )
        )
    }

    @Test("E17 without a fault the code is 0 and the text empty")
    func noFault() throws {
        let result = try result("<RESULT><SUCCESS>TRUE</SUCCESS></RESULT>")
        #expect(result.errorCode == 0)
        #expect(result.faultText.isEmpty)
        #expect(result.recipientID == nil)
    }

    @Test("E18 column lookup works for none, one and many")
    func columnCounts() throws {
        func columns(_ names: [String]) -> String {
            let inner = names.map { "<COLUMN><NAME>\($0)</NAME><VALUE>v-\($0)</VALUE></COLUMN>" }.joined()
            return "<RESULT><SUCCESS>TRUE</SUCCESS><COLUMNS>\(inner)</COLUMNS></RESULT>"
        }
        #expect(try result(columns([])).column("a") == nil)
        #expect(try result(columns(["a"])).column("a") == "v-a")
        #expect(try result(columns(["a"])).text(at: "columns.a") == "v-a")
        #expect(try result(columns(["a", "b", "c"])).column("c") == "v-c")
        #expect(try result(columns(["a", "A"])).column("a") == "v-a")
        #expect(try result(columns(["a.b", "c"])).text(at: "Columns.a.b") == "v-a.b")
        #expect(try result(columns(["a", "b"])).columns == [.init("a", "v-a"), .init("b", "v-b")])
    }

    @Test("E19 column names ignore case")
    func columnCase() async throws {
        let engage = bench.engage()
        let id = try await bench.addRecipient(["Lname": "Lee"])
        let result = try await engage.xmlapi.send(.selectRecipient(id: id, list: list))
        #expect(result.column("LNAME") == "Lee")
        #expect(result.text(at: "COLUMNS.lname") == "Lee")
        #expect(result.text(at: "recipientid") == id)
    }

    @Test("E20 a column with an empty value is missing")
    func emptyColumn() throws {
        let text =
            "<RESULT><COLUMNS><COLUMN><NAME>a</NAME><VALUE/></COLUMN><COLUMN><NAME>b</NAME></COLUMN></COLUMNS></RESULT>"
        let result = try result(text)
        #expect(result.column("a") == nil && result.column("b") == nil && result.column("c") == nil)
        #expect(result.text(at: "columns.a") == "")
    }

    @Test("E21 two spellings of the address column have one value")
    func email() throws {
        let result = try result("<RESULT><EMAIL>old@example.test</EMAIL><Email>new@example.test</Email></RESULT>")
        #expect(result.email == "new@example.test")
        #expect(result.nodes(at: "email").map(\.text) == ["new@example.test"])
    }

    @Test("short paths reach attributes, repeated elements and missing ones")
    func paths() throws {
        let result = try result(
            "<RESULT><LIST><ID>1</ID></LIST><LIST><ID> 2 </ID></LIST><A kind=\"x\">  </A></RESULT>"
        )
        #expect(result.nodes(at: "list.id").map(\.text) == ["1", "2"])
        #expect(result.text(at: "LIST.ID") == "1")
        #expect(result.text(at: "a") == "")
        #expect(result.nodes(at: "a").first?.attributes == ["kind": "x"])
        #expect(result.text(at: "nobody.home") == "" && result.text(at: "") == "" && result.nodes(at: "").isEmpty)
    }

    @Test(
        "E22 an error status, or HTML, is an error",
        arguments: [
            (503, "text/xml", "<Envelope/>", ErrorCode.transport), (200, "text/html", "<html></html>", .transport),
            (200, "", "<Envelope><Body/></Envelope>", .transport), (302, "text/html", "", .transport),
            (403, "text/xml", "", .unauthorized), (404, "text/html", "", .configuration),
            (413, "text/html", "", .tooLarge),
            (200, "text/xml", "", .parseError), (200, "text/xml", "<Envelope><Body><RESULT>", .parseError),
            (200, "text/xml", "<html></html>", .parseError), (200, "text/xml", "<Envelope></Envelope>", .parseError),
            (
                200, "application/xml",
                "<!DOCTYPE b [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><Envelope><Body>&b;</Body></Envelope>",
                .parseError
            ),
        ]
    )
    func noResult(status: Int, type: String, body: String, code: ErrorCode) async throws {
        let engage = bench.engage()
        bench.plan(.status(status, body: body, type: type), on: "SelectRecipientData")
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.xmlapi.send(.selectRecipient(id: "1", list: list))
        }
        #expect(error?.code == code)
        #expect(error?.message.hasPrefix("SelectRecipientData: ") == true)
        #expect(bench.exchanges("SelectRecipientData").count == 1)
    }

    // MARK: The vendor's rules

    @Test("E23 of two that match, the older is selected")
    func oldest() async throws {
        let first = try await bench.addRecipient(["facebook_id": "100"])
        let second = try await bench.addRecipient(["facebook_id": "100"])
        #expect(first != second)
        let result = try await bench.engage().xmlapi.send(
            .selectRecipientData(columns: ["facebook_id": "100"], list: list)
        )
        #expect(result.recipientID == first)
    }

    @Test("E24 two columns, one of them different, match no recipient")
    func allColumns() async throws {
        _ = try await bench.addRecipient(["facebook_id": "100", "twitter_id": "1"])
        let result = try await bench.engage().xmlapi.send(
            .selectRecipientData(columns: ["facebook_id": "100", "twitter_id": "2"], list: list)
        )
        #expect(result.errorCode == .recipientNotListMember)
    }

    @Test(
        "E25 a non-numeric list id is fault 310, and an unknown list is a fault as well",
        arguments: [
            ("abc", 310), ("999", 108), ("", 100),
        ]
    )
    func lists(id: String, code: Int) async throws {
        let result = try await bench.engage().xmlapi.send(.addAnonymousRecipient(list: id))
        #expect(result.errorCode.rawValue == code)
        #expect(bench.exchanges("AddRecipient").first?.response?.status == 200)
    }

    @Test(
        "E26 an unknown operation, or one with different case, is fault 51",
        arguments: ["MakeCoffee", "LOGIN", "addRecipient"]
    )
    func unknownOperation(name: String) async throws {
        let result = try await bench.engage().xmlapi.send(XMLAPI(XMLAPIOperation(rawValue: name)))
        #expect(result.errorCode == .invalidXmlRequest && !result.isSuccess)
    }

    @Test("E26 an envelope whose Body has different case is fault 51, with HTTP 200", arguments: ["body", "BODY"])
    func unknownBody(name: String) async throws {
        let login = "grant_type=refresh_token&client_id=client&client_secret=secret&refresh_token=refresh"
        let form = MockRequest.Header("Content-Type", "application/x-www-form-urlencoded")
        let token = MockRequest(method: "POST", path: "/oauth/token", headers: [form], body: Array(login.utf8))
        #expect(await bench.mock.respond(to: token).status == 200)
        let envelope = "<Envelope><\(name)><AddRecipient><LIST_ID>\(list)</LIST_ID></AddRecipient></\(name)></Envelope>"
        let request = MockRequest(
            method: "POST",
            path: "/XMLAPI",
            headers: [form, .init("Authorization", "Bearer at-0001")],
            body: Array("xml=\(PercentEncoding.encode(envelope))".utf8)
        )
        let response = await bench.mock.respond(to: request)
        #expect(response.status == 200)
        #expect(try XMLAPIResult(reading: response.body).errorCode == .invalidXmlRequest)
        #expect(try await bench.recipients().isEmpty)
    }

    @Test("E27 an empty value clears a column")
    func clearing() async throws {
        let id = try await bench.addRecipient(["Lname": "Lee"])
        try await bench.engage().xmlapi.perform(.updateRecipient(id: id, list: list, columns: ["Lname": ""]))
        #expect(try await bench.recipient(id)["Lname"] == "")
    }

    @Test("E28 a hundred and one rows take two calls")
    func rows() async throws {
        let rows = (1...101).map { XMLAPIFields(["Audit Record Id": "A-\($0)"]) }
        #expect(try await bench.engage().xmlapi.insertUpdate(rows: rows, table: "29392").isEmpty)
        let counts = bench.exchanges("InsertUpdateRelationalTable").map {
            $0.envelope.components(separatedBy: "<ROW>").count - 1
        }
        #expect(counts == [100, 1])
        #expect(try await bench.auditRows().count == 101)
    }

    @Test("E29 rejected rows are reported although the answer is a success")
    func rowFailures() async throws {
        let rows: [XMLAPIFields] = [
            ["Audit Record Id": "A-1", "Create Date": "yesterday"],
            ["Audit Record Id": "A-2", "Create Date": "02/03/2015 18:04:05 GMT"],
        ]
        let failures = try await bench.engage().xmlapi.insertUpdate(rows: rows, table: "29392")
        #expect(
            failures == [
                XMLAPIRowFailure(
                    isTransient: false,
                    reason: "Invalid Date Value in column: Create Date",
                    columns: ["Audit Record Id": "A-1"]
                )
            ]
        )
        #expect(try await bench.auditRows().map { $0["Audit Record Id"] } == ["A-2"])
    }

    @Test("E30 adding an address twice makes one recipient")
    func upsert() async throws {
        let engage = bench.engage()
        let first = try await engage.xmlapi.perform(.addRecipient(email: "ann@example.test", list: list))
        let second = try await engage.xmlapi.perform(.addRecipient(email: "ann@example.test", list: list))
        #expect(first.recipientID == second.recipientID)
        #expect(try await bench.recipients().count == 1)
    }

    @Test("no more concurrent calls than configured", arguments: [1, 8])
    func concurrency(limit: Int) async throws {
        let engage = bench.engage { $0.networking.concurrency = limit }
        _ = try await engage.xmlapi.send(.selectRecipient(id: "0", list: list))
        await bench.settings(#"{"latency":5}"#)
        bench.hold("SelectRecipientData")
        let calls = (1...40).map { number in
            Task { try await engage.xmlapi.send(.selectRecipient(id: "\(number)", list: "23949")) }
        }
        try await eventually("all calls on their way or in line") { bench.held + engage.waitingCalls == 40 }
        #expect(bench.held == limit)
        bench.letGo()
        for call in calls { _ = await call.result }
        #expect(bench.exchanges("SelectRecipientData").count == 41)
        struct State: Decodable { var mostUnderWay: Int }
        let most = try JSONDecoder().decode(State.self, from: await bench.control("GET", "/state")).mostUnderWay
        #expect(most <= limit)
    }

    @Test("a call that is cancelled while it waits is not sent")
    func cancelled() async throws {
        let engage = bench.engage { $0.networking.patience = .seconds(600) }
        bench.plan(.status(503), on: "token")
        let first = Task { try await engage.xmlapi.send(.selectRecipient(id: "1", list: "23949")) }
        await bench.time.waitForSleepers(1)
        let second = Task { try await engage.xmlapi.send(.selectRecipient(id: "2", list: "23949")) }
        try await eventually("a call in line") { engage.waitingCalls >= 1 }
        second.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await second.value }
        #expect(error?.code == .cancelled)
        bench.time.advance(by: .seconds(2))
        _ = try await first.value
        #expect(bench.exchanges("SelectRecipientData").count == 1)
        _ = try await engage.xmlapi.send(.selectRecipient(id: "3", list: list))
    }

    @Test("errors contain neither the vendor's text nor the request")
    func secrets() async throws {
        let engage = bench.engage()
        bench.plan(
            .status(200, body: XMLAPITests.personalFault, type: "text/xml"),
            on: "SelectRecipientData"
        )
        let error = await #expect(throws: ExperimentationError.self) {
            try await engage.xmlapi.perform(.selectRecipientData(email: "ann@example.test", list: list))
        }
        var printed = "\(error as Any) \(String(reflecting: error))"
        dump(error, to: &printed)
        #expect(!printed.contains("ann@"))
        // The vendor's text is available on request.
        #expect((error?.cause as? XMLAPIFault)?.text == "ann@example.test is unknown")
    }

    private static let personalFault =
        "<Envelope><Body><RESULT><SUCCESS>false</SUCCESS></RESULT><Fault><FaultString>ann@example.test is unknown"
        + "</FaultString><detail><error><errorid>128</errorid></error></detail></Fault></Body></Envelope>"
}
