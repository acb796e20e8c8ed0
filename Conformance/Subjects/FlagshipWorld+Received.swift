import ConformanceKit
import Experimentation
import Foundation
import MockVendors

extension FlagshipWorld {
    /// What the vendor accepted, in neutral terms and in the order of arrival.
    static func received(_ taken: [FlagshipMockTaken], journal: [JournalEntry]) -> [Received] {
        var exchanges: [[UInt8]: Int] = [:]
        for entry in journal where exchanges[entry.request.body] == nil {
            exchanges[entry.request.body] = entry.number
        }
        var received: [Received] = []
        for item in taken {
            let exchange = exchanges[item.body] ?? 0
            if let activation = item.activation {
                received.append(exposure(activation, exchange: exchange))
            } else if let hit = item.json.flatMap(fields) {
                add(hit, exchange: exchange, to: &received)
            }
        }
        return received
    }

    private static func fields(_ text: String) -> [String: FlagValue]? {
        (try? JSONDecoder().decode(FlagValue.self, from: Data(text.utf8)))?.objectValue
    }

    private static func exposure(_ activation: FlagshipMockActivation, exchange: Int) -> Received {
        // Groups of forced users belong to the experiment, too.
        let group = activation.group
        let experiment = group.range(of: "-forced-").map { String(group[..<$0.lowerBound]) } ?? group
        return Received(
            type: "exposure",
            userID: activation.visitor,
            anonymousID: activation.anonymous,
            experiment: experiment,
            variation: activation.variation,
            age: activation.queueTime.map { Double($0) / 1_000 },
            exchange: exchange
        )
    }

    private static func add(_ hit: [String: FlagValue], exchange: Int, to received: inout [Received]) {
        func text(_ name: String) -> String? { hit[name]?.stringValue }
        let customer = text("cuid")
        var one = Received(type: "unknown", userID: customer ?? text("vid"), exchange: exchange)
        if customer != nil { one.anonymousID = text("vid") }
        // The queue time is in milliseconds.
        one.age = hit["qt"]?.doubleValue.map { $0 / 1_000 }
        switch text("t") {
        case "EVENT" where text("ea") == "fs_consent":
            one.type = "consentChanged"
            one.isGranted = text("el")?.hasSuffix(":true")
        case "EVENT":
            one.type = "custom"
            one.name = text("ea")
            one.value = hit["ev"]?.doubleValue
        case "SCREENVIEW":
            one.type = "screenView"
            one.name = text("dl")
        case "PAGEVIEW":
            one.type = "pageView"
            one.name = text("dl")
        case "TRANSACTION":
            one.type = "purchase"
            one.orderID = text("tid")
            one.value = hit["tr"]?.doubleValue
        case "ITEM":
            // An order's items are separate hits that follow it.
            let order = received.lastIndex { $0.type == "purchase" && $0.orderID == text("tid") }
            if let order, let code = text("ic") {
                received[order].items.append(code)
                return
            }
        case "SEGMENT": one.type = "identity"
        default: break
        }
        received.append(one)
    }
}
