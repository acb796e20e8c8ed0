import Foundation

/// The operations of the XML interface that touch lists and recipients.
extension EngageMockBackEnd {
    /// The operations that this server carries out.
    static let operations: Set<String> = [
        "AddRecipient", "UpdateRecipient", "SelectRecipientData", "RemoveRecipient", "OptOutRecipient",
        "DoubleOptInRecipient", "AddListColumn", "GetLists", "GetListMetaData", "InsertUpdateRelationalTable",
        "DeleteRelationalTableData", "PurgeTable", "Login", "Logout",
    ]

    /// Operations that the vendor has but that this organization has no access to.
    static let closedOperations: Set<String> = [
        "SendMailing", "ForwardToFriend", "GetContactMailingDetails", "PurgeData", "ImportList", "ExportList",
        "ListRecipientMailings", "CreateTable", "JoinTable", "ImportTable", "ExportTable", "DeleteTable",
        "CreateContactList", "AddContactToContactList", "AddContactToProgram", "CreateQuery", "CalculateQuery",
        "SetColumnValue", "TrackingMetricExport", "RawRecipientDataExport", "WebTrackingDataExport",
        "GetReportIdByDate", "GetSentMailingsForOrg", "GetSentMailingsForUser", "GetSentMailingsForList",
        "GetAggregateTrackingForMailing", "GetAggregateTrackingForOrg", "GetAggregateTrackingForUser", "GetJobStatus",
        "DeleteJob", "GetFolderPath", "ScheduleMailing", "PreviewMailing", "GetMessageGroupDetails", "AddDCRuleset",
        "ImportDCRuleset", "ExportDCRuleset", "ListDCRulesetsForMailing", "GetDCRuleset", "ReplaceDCRuleset",
        "ValidateDCRuleset", "DeleteDCRuleset", "GetMailingTemplates", "ExportMailingTemplate", "SaveMailing",
    ]

    /// Carries out an operation.
    ///
    /// - Returns: The content of the `<RESULT>` element.
    mutating func perform(_ operation: EngageNode, now: Date) throws(EngageFault) -> String {
        switch operation.name {
        case "AddRecipient": return try addRecipient(operation, now: now)
        case "UpdateRecipient": return try updateRecipient(operation, now: now)
        case "SelectRecipientData": return try selectRecipient(operation)
        case "RemoveRecipient": return try removeRecipient(operation)
        case "OptOutRecipient": return try optOut(operation, now: now)
        case "DoubleOptInRecipient": return try optIn(operation, now: now)
        case "AddListColumn": return try addColumn(operation)
        case "GetLists":
            return "<SUCCESS>TRUE</SUCCESS>"
                + lists.map {
                    "<LIST><ID>\($0.id)</ID>" + EngageMarkup.element("NAME", $0.name)
                        + "<TYPE>0</TYPE><SIZE>\($0.recipients.count)</SIZE></LIST>"
                }.joined()
        case "GetListMetaData": return try metaData(operation)
        case "InsertUpdateRelationalTable": return try upsertRows(operation)
        case "DeleteRelationalTableData": return try deleteRows(operation)
        case "PurgeTable":
            let index = try tableIndex(operation)
            tables[index].rows = []
            return "<SUCCESS>true</SUCCESS>"
        case "Login", "Logout":
            throw EngageFault(150, "This organization signs in by OAuth", origin: "SP.API")
        case let name where Self.closedOperations.contains(name):
            throw EngageFault(150, "\(name) is not open to this organization", origin: "SP.API")
        default: throw .invalidRequest
        }
    }

    private func acknowledged(_ id: Int) -> String {
        "<SUCCESS>TRUE</SUCCESS><RecipientId>\(id)</RecipientId><ORGANIZATION_ID>\(organization)</ORGANIZATION_ID>"
    }

    // MARK: Reading what was asked

    private func listIndex(_ operation: EngageNode) throws(EngageFault) -> Int {
        guard let text = operation.value("LIST_ID"), !text.isEmpty else { throw .missing("LIST_ID") }
        guard let id = Int(text) else { throw EngageFault(310, "LIST_ID must be an integer") }
        guard let index = lists.firstIndex(where: { $0.id == id }) else {
            throw EngageFault(settings.unknownListCode, "List with id \(id) Does Not Exist.")
        }
        return index
    }

    private func columns(_ operation: EngageNode, of list: List) throws(EngageFault) -> [(name: String, value: String)]
    {
        let columns = try pairs(operation.all("COLUMN"), of: list, nameless: EngageFault(316, "COLUMN without NAME"))
        guard settings.strictColumnTypes else { return columns }
        for (name, value) in columns {
            if name == "Email", !value.isEmpty, !EngageMockColumns.isAddress(value) {
                throw EngageFault(1017, "The email is not valid.")
            }
            guard let column = list.columns.first(where: { Self.canonical($0.name) == name }) else { continue }
            if let kind = EngageMockColumns.problem(with: value, type: column.type) {
                throw EngageFault(120, "Invalid \(kind) Value in column: \(name)")
            }
        }
        return columns
    }

    private func syncFields(_ operation: EngageNode, of list: List) throws(EngageFault) -> [(
        name: String, value: String
    )] {
        var nodes: [EngageNode] = []
        for fields in operation.all("SYNC_FIELDS") {
            // A known third-party client writes NAME and VALUE straight into SYNC_FIELDS.
            nodes += fields.child("NAME") == nil ? fields.all("SYNC_FIELD") : [fields]
        }
        return try pairs(nodes, of: list, nameless: EngageFault(329, "SYNC_FIELD without NAME"))
    }

    private func pairs(
        _ nodes: [EngageNode],
        of list: List,
        nameless: EngageFault
    ) throws(EngageFault) -> [(name: String, value: String)] {
        let known = Set(list.columns.map { Self.canonical($0.name) })
        var result: [(name: String, value: String)] = []
        for node in nodes {
            guard let written = node.child("NAME")?.text, !written.isEmpty else { throw nameless }
            let name = Self.canonical(written)
            guard known.contains(name) || name == "Email" else {
                if settings.strictColumns {
                    throw EngageFault(161, "Column name is not valid for the list: \(written)")
                }
                continue
            }
            result.append((name, node.child("VALUE")?.text ?? ""))
        }
        return result
    }

    private static func flag(_ operation: EngageNode, _ name: String, code: Int) throws(EngageFault) -> Bool {
        guard let text = operation.value(name)?.lowercased() else { return false }
        switch text {
        case "", "true": return true
        case "false": return false
        default: throw EngageFault(code, "\(name) must be true or false")
        }
    }

    private func matches(_ wanted: [(name: String, value: String)], in list: List) -> Int? {
        // An empty value matches no recipient; otherwise it would match every recipient without one.
        list.recipients.firstIndex { recipient in
            wanted.allSatisfy { !$0.value.isEmpty && recipient.values[$0.name] == $0.value }
        }
    }

    // MARK: Recipients

    private mutating func addRecipient(_ operation: EngageNode, now: Date) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        let columns = try columns(operation, of: lists[at])
        let sync = try syncFields(operation, of: lists[at])
        let updates = try Self.flag(operation, "UPDATE_IF_FOUND", code: 119)
        let from = operation.value("CREATED_FROM") ?? "1"
        guard ["0", "1", "2", "3"].contains(from) else { throw EngageFault(116, "CREATED_FROM must be 0, 1, 2 or 3") }
        var found: Int?
        if let key = lists[at].key.map(Self.canonical) {
            let value = (columns + sync).last { $0.name == key }?.value ?? ""
            guard !value.isEmpty else {
                throw EngageFault(key == "Email" ? 121 : 1006, "\(key) is the list's key and must be given")
            }
            found = matches([(key, value)], in: lists[at])
            if found != nil, !updates { throw EngageFault(122, "Recipient already exists.") }
        } else if !sync.isEmpty, updates {
            found = matches(sync, in: lists[at])
        }
        if let found {
            for column in columns { lists[at].recipients[found].values[column.name] = column.value }
            lists[at].recipients[found].modified = now
            return acknowledged(lists[at].recipients[found].id)
        }
        var values = Dictionary(
            lists[at].columns.filter { !$0.standard.isEmpty }.map { (Self.canonical($0.name), $0.standard) },
            uniquingKeysWith: { $1 }
        )
        for column in sync + columns { values[column.name] = column.value }
        let id = nextRecipient
        nextRecipient += 1
        lists[at].recipients.append(Recipient(id: id, values: values, createdFrom: from, now: now))
        return acknowledged(id)
    }

    private mutating func updateRecipient(_ operation: EngageNode, now: Date) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        let columns = try columns(operation, of: lists[at])
        let sync = try syncFields(operation, of: lists[at])
        var place: Int?
        if let text = operation.value("RECIPIENT_ID") ?? operation.value("ENCODED_RECIPIENT_ID") {
            guard let id = Int(text) else { throw EngageFault(124, "Recipient id is not valid.") }
            place = lists[at].recipients.firstIndex { $0.id == id }
            if place == nil { throw EngageFault(123, "Unable to update. The recipient does not exist.") }
        } else if let old = operation.value("OLD_EMAIL"), !old.isEmpty {
            place = matches([("Email", old)], in: lists[at])
            if place == nil {
                // An unknown address is added, as a third-party client documents.
                let id = nextRecipient
                nextRecipient += 1
                lists[at].recipients.append(Recipient(id: id, values: ["Email": old], now: now))
                place = lists[at].recipients.count - 1
            }
        } else if !sync.isEmpty {
            place = matches(sync, in: lists[at])
            if place == nil { throw EngageFault(1002, "No recipient has these sync fields.") }
        } else {
            throw .missing("RECIPIENT_ID")
        }
        guard let place else { throw EngageFault(123, "Unable to update. The recipient does not exist.") }
        let address = lists[at].recipients[place].values["Email", default: ""]
        let isKeyed = lists[at].key.map(Self.canonical) == "Email" && operation.value("OLD_EMAIL") == nil
        if isKeyed, columns.contains(where: { $0.name == "Email" && $0.value != address }) {
            throw EngageFault(326, "Unable to update EMAIL: it is the list's key.")
        }
        if let key = lists[at].key.map(Self.canonical), let value = columns.last(where: { $0.name == key })?.value,
            let holder = matches([(key, value)], in: lists[at]), holder != place
        {
            throw EngageFault(122, "Recipient already exists.")
        }
        for column in columns { lists[at].recipients[place].values[column.name] = column.value }
        lists[at].recipients[place].modified = now
        return acknowledged(lists[at].recipients[place].id)
    }

    /// Returns the index of the recipient that a selection names: by id, by address, or by columns that must all match.
    private func place(_ operation: EngageNode, in list: List) throws(EngageFault) -> Int {
        let absent = EngageFault(128, "Recipient is not a member of the list.")
        let columns = try columns(operation, of: list)
        if let text = operation.value("RECIPIENT_ID") {
            guard let id = Int(text) else { throw EngageFault(124, "Recipient id is not valid.") }
            guard let place = list.recipients.firstIndex(where: { $0.id == id }) else { throw absent }
            return place
        }
        var wanted = columns
        if let email = operation.value("EMAIL"), !email.isEmpty { wanted.append(("Email", email)) }
        guard !wanted.isEmpty else { throw .missing("EMAIL or COLUMN") }
        guard let place = matches(wanted, in: list) else { throw absent }
        return place
    }

    private func selectRecipient(_ operation: EngageNode) throws(EngageFault) -> String {
        let list = lists[try listIndex(operation)]
        let recipient = list.recipients[try place(operation, in: list)]
        let email = recipient.values["Email", default: ""]
        let modified = Self.american(recipient.modified)
        var text = "<SUCCESS>TRUE</SUCCESS>" + EngageMarkup.element("EMAIL", email)
        text += EngageMarkup.element("Email", email)
        text += "<RecipientId>\(recipient.id)</RecipientId><EmailType>0</EmailType>"
        text += "<LastModified>\(modified)</LastModified><CreatedFrom>\(recipient.createdFrom)</CreatedFrom>"
        text += EngageMarkup.element("OptedIn", Self.american(recipient.created))
        text += EngageMarkup.element("OptedOut", recipient.optedOut ? modified : "")
        text += "<ORGANIZATION_ID>\(organization)</ORGANIZATION_ID><COLUMNS>"
        for column in list.columns where Self.canonical(column.name) != "Email" {
            text += "<COLUMN>" + EngageMarkup.element("NAME", column.name)
            text += EngageMarkup.element("VALUE", recipient.values[column.name, default: ""]) + "</COLUMN>"
        }
        return text + "</COLUMNS>"
    }

    private mutating func removeRecipient(_ operation: EngageNode) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        let place = try place(operation, in: lists[at])
        lists[at].recipients.remove(at: place)
        return "<SUCCESS>TRUE</SUCCESS><ORGANIZATION_ID>\(organization)</ORGANIZATION_ID>"
    }

    private mutating func optOut(_ operation: EngageNode, now: Date) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        let place = try place(operation, in: lists[at])
        lists[at].recipients[place].optedOut = true
        lists[at].recipients[place].modified = now
        return "<SUCCESS>TRUE</SUCCESS><ORGANIZATION_ID>\(organization)</ORGANIZATION_ID>"
    }

    private mutating func optIn(_ operation: EngageNode, now: Date) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        let place = try place(operation, in: lists[at])
        lists[at].recipients[place].optedOut = false
        lists[at].recipients[place].modified = now
        return acknowledged(lists[at].recipients[place].id)
    }

    // MARK: Columns

    private mutating func addColumn(_ operation: EngageNode) throws(EngageFault) -> String {
        let at = try listIndex(operation)
        guard let name = operation.value("COLUMN_NAME"), !name.isEmpty else { throw .missing("COLUMN_NAME") }
        guard let type = operation.value("COLUMN_TYPE").flatMap(Int.init),
            [0, 1, 2, 3, 4, 5, 6, 8, 13, 14, 15, 16, 17, 20].contains(type)
        else { throw EngageFault(313, "COLUMN_TYPE is not valid") }
        guard !lists[at].columns.contains(where: { Self.canonical($0.name) == Self.canonical(name) }) else {
            throw EngageFault(101, "A column named \(name) already exists")
        }
        let standard = operation.value("DEFAULT") ?? ""
        lists[at].columns.append(Column(name, type: type, standard: standard))
        return "<SUCCESS>TRUE</SUCCESS>"
    }

    private func metaData(_ operation: EngageNode) throws(EngageFault) -> String {
        let list = lists[try listIndex(operation)]
        var text = "<SUCCESS>TRUE</SUCCESS><ID>\(list.id)</ID>" + EngageMarkup.element("NAME", list.name)
        text += "<TYPE>0</TYPE><SIZE>\(list.recipients.count)</SIZE><COLUMNS>"
        for column in list.columns {
            text += "<COLUMN>" + EngageMarkup.element("NAME", column.name)
            text += EngageMarkup.element("DEFAULT_VALUE", column.standard) + "<TYPE>\(column.type)</TYPE></COLUMN>"
        }
        text += "</COLUMNS>"
        if let key = list.key {
            text += "<KEY_COLUMNS><COLUMN>" + EngageMarkup.element("NAME", key) + "</COLUMN></KEY_COLUMNS>"
        }
        return text
    }

    /// Formats a date in the vendor's style, `2/3/15 6:04 PM`.
    private static func american(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        let hour = parts.hour ?? 0
        let minute = String((parts.minute ?? 0) + 100).dropFirst()
        let year = String((parts.year ?? 0) % 100 + 100).dropFirst()
        return
            "\(parts.month ?? 1)/\(parts.day ?? 1)/\(year) \((hour + 11) % 12 + 1):\(minute) \(hour < 12 ? "AM" : "PM")"
    }
}
