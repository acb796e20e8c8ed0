import BenchmarkHarness
import EngageAdapter
import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// Documents of the XML interface, compared with plain string concatenation and with Foundation's parser alone.
enum XMLCosts {
    static let columns = (1...20).map { ("Column \($0)", "a value of twenty-\($0) letters") }

    static func measure(_ table: inout Table) throws {
        let call = XMLAPI(
            .addRecipient,
            ["LIST_ID": "23949", "UPDATE_IF_FOUND": "true"],
            columns: columns.reduce(into: XMLAPIFields()) { $0[$1.0] = $1.1 }
        )
        let text = try call.envelope()
        precondition(text == concatenated())
        let plain = Cost.of(20_000) { count in
            for _ in 0..<count { consume(concatenated()) }
        }
        let built = Cost.of(20_000) { count in
            for _ in 0..<count { consume(try? call.envelope()) }
        }
        table.add("the same text by concatenation", plain.nanoseconds / 1_000, unit: "µs")
        table.add("an envelope of 20 columns", built.nanoseconds / 1_000, unit: "µs")
        table.add("envelope / concatenation", built.nanoseconds / plain.nanoseconds, atMost: 5, unit: "×")

        for (name, document) in [("the envelope", text), ("an answer of 20 columns", answer())] {
            let bytes = Array(document.utf8)
            let data = Data(bytes)
            let bare = Cost.of(1_000) { count in
                for _ in 0..<count {
                    let parser = XMLParser(data: data)
                    precondition(parser.parse())
                }
            }
            let read = Cost.of(1_000) { count in
                for _ in 0..<count { consume(try? XMLAPIResult(reading: bytes)) }
            }
            precondition((try? XMLAPIResult(reading: bytes)) != nil)
            table.add("XMLParser without a delegate over \(name)", bare.nanoseconds / 1_000, unit: "µs")
            table.add("reading \(name)", read.nanoseconds / 1_000, unit: "µs")
            table.add("reading / XMLParser", read.nanoseconds / bare.nanoseconds, atMost: 3, unit: "×")
        }
    }

    @inline(never)
    static func concatenated() -> String {
        var text = "<Envelope><Body><AddRecipient><LIST_ID>" + "23949" + "</LIST_ID>"
        text += "<UPDATE_IF_FOUND>" + "true" + "</UPDATE_IF_FOUND>"
        for (name, value) in columns {
            text += "<COLUMN><NAME>" + name + "</NAME><VALUE>" + value + "</VALUE></COLUMN>"
        }
        text += "</AddRecipient></Body></Envelope>"
        return text
    }

    static func answer() -> String {
        let columns = columns.map { "<COLUMN><NAME>\($0.0)</NAME><VALUE>\($0.1)</VALUE></COLUMN>" }.joined()
        return """
            <Envelope><Body><RESULT><SUCCESS>TRUE</SUCCESS><EMAIL>ann@example.test</EMAIL><Email>ann@example.test</Email>\
            <RecipientId>100001</RecipientId><EmailType>0</EmailType><LastModified>2/3/15 6:04 PM</LastModified>\
            <CreatedFrom>1</CreatedFrom><OptedIn>2/3/15 6:04 PM</OptedIn><OptedOut/>\
            <ORGANIZATION_ID>2b22-13e3-adc7</ORGANIZATION_ID><COLUMNS>\(columns)</COLUMNS></RESULT></Body></Envelope>
            """
    }
}
