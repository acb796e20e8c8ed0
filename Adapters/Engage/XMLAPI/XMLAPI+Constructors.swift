/// The calls for which the vendor's own SDK has constructors.
extension XMLAPI {
    /// Selects a recipient by its id.
    public static func selectRecipient(id: String, list: String) -> XMLAPI {
        XMLAPI(.selectRecipientData, ["LIST_ID": list, "RECIPIENT_ID": id])
    }

    /// Selects a recipient by its e-mail address.
    public static func selectRecipientData(email: String, list: String) -> XMLAPI {
        XMLAPI(.selectRecipientData, ["LIST_ID": list, "EMAIL": email], columns: ["EMAIL": email])
    }

    /// Selects the oldest recipient with all of these values.
    public static func selectRecipientData(columns: XMLAPIFields, list: String) -> XMLAPI {
        XMLAPI(.selectRecipientData, ["LIST_ID": list], columns: columns)
    }

    /// Adds a recipient by its e-mail address, or updates the one that has it.
    public static func addRecipient(email: String, list: String) -> XMLAPI {
        XMLAPI(
            .addRecipient,
            ["LIST_ID": list, "UPDATE_IF_FOUND": "true"],
            columns: ["Email": email],
            syncFields: ["Email": email]
        )
    }

    /// Adds a recipient with only a mobile user id.
    ///
    /// As in the reference, neither `UPDATE_IF_FOUND` nor `CREATED_FROM` is sent.
    public static func addRecipient(mobileUserIDColumn column: String, id: String, list: String) -> XMLAPI {
        XMLAPI(.addRecipient, ["LIST_ID": list], columns: [column: id])
    }

    /// Adds an empty recipient.
    public static func addAnonymousRecipient(list: String) -> XMLAPI {
        XMLAPI(.addRecipient, ["LIST_ID": list])
    }

    /// Updates a recipient; set the changes as ``columns``.
    ///
    /// An empty value clears a column.
    public static func updateRecipient(id: String, list: String, columns: XMLAPIFields = [:]) -> XMLAPI {
        XMLAPI(.updateRecipient, ["LIST_ID": list, "RECIPIENT_ID": id], columns: columns)
    }

    /// Adds a column to a list.
    public static func addColumn(_ name: String, list: String, type: XMLAPIColumnType) -> XMLAPI {
        XMLAPI(
            .addListColumn,
            ["LIST_ID": list, "COLUMN_NAME": name, "COLUMN_TYPE": String(type.rawValue), "DEFAULT": ""]
        )
    }

    /// Inserts rows into a relational table, or updates those with the same keys.
    ///
    /// The vendor takes at most 100 rows per call; ``XMLAPIClient/insertUpdate(rows:table:)`` splits them.
    public static func insertUpdate(rows: [XMLAPIFields], table: String) -> XMLAPI {
        XMLAPI(.insertUpdateRelationalTable, ["TABLE_ID": table], rows: rows)
    }

    /// Opts a recipient out of mailings.
    public static func optOut(recipientID: String, list: String) -> XMLAPI {
        XMLAPI(.optOutRecipient, ["LIST_ID": list, "RECIPIENT_ID": recipientID])
    }

    /// Writes a recipient's last known location to its two columns.
    ///
    /// The reference searches by e-mail address, for which it passes the mobile user id, and so matches no recipient or
    /// the wrong one; this call finds the recipient by its id.
    ///
    /// The address is the place in one line, or `UNKNOWN`; the date is in the configured format.
    public static func updateLastKnownLocation(
        recipientID: String,
        list: String,
        address: String,
        date: String,
        columns: (address: String, date: String)
    ) -> XMLAPI {
        updateRecipient(id: recipientID, list: list, columns: [columns.address: address, columns.date: date])
    }
}

/// The type of a column, by the vendor's code.
public enum XMLAPIColumnType: Int, Sendable, Hashable, Codable, CaseIterable {
    /// Any text.
    case text = 0
    /// Yes or no.
    case yesNo = 1
    /// A number.
    case numeric = 2
    /// A date.
    case date = 3
    /// A time of day.
    case time = 4
    /// A country.
    case country = 5
    /// One of a list of values.
    case selectOne = 6
    /// A text for segmentation.
    case segmenting = 8
    /// Whether text messages may be sent.
    case smsOptIn = 13
    /// When the user opted out of text messages.
    case smsOptOutDate = 14
    /// A telephone number for text messages.
    case smsPhone = 15
    /// A telephone number.
    case phone = 16
    /// A date and time.
    case timestamp = 17
    /// Several of a list of values.
    case multiSelect = 20
}
