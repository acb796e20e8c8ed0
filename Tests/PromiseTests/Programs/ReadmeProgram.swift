import Experimentation
import ExperimentationSQLite
import Foundation

func visit(_ provider: any ExperimentationProvider, events: URL) async throws -> String {
    let client = try await ExperimentationClient(provider: provider, store: .sqlite(at: events))
    let session = client.session(for: User(id: "u-1", attributes: ["vip": true], consent: .granted))
    if client.supports(.flags) { try await session.refresh() }  // by the vendor's freshness rules
    let color = session.string("btnColor", default: "red")  // synchronous; reads one immutable snapshot
    let why = session.details("btnColor", default: "red")  // value, variant, reason, error, metadata
    let order = Order(id: "o-1", lines: [LineItem(item: CatalogItem(id: "sku", price: 20))], total: 20)
    if client.supports(.purchase(order)) {
        try await session.track(.purchase(order))  // accepted durably when it returns
    }
    await client.shutdown()  // delivers what it can within its deadline
    return "\(color), because \(why.errorCode?.rawValue ?? why.reason.rawValue)"
}
