// SPDX-License-Identifier: Apache-2.0
// A document is made and written with each allocation failing in turn: one check at the end tells.
#include "oom.h"

#include "cmd/out.h"
#include "render/doc_cases.h"

TEST(each_medium)
{
    for (int medium = 0; medium < 4; medium++)
        OOM_EACH
        {
            struct doc doc = {0};
            struct out out = {.width = 80};
            struct err err = {0};
            every_kind(&doc);
            for (int i = 0; i < 100; i++) // lists and texts that grow
                doc_item(&doc, doc_text(&doc, "%0200d", i));
            if (medium == 0)
                out_doc(&out, &doc);
            else if (medium == 1)
                doc_html(&out.text, &doc, 2);
            else if (medium == 2)
                doc_markdown(&out.text, &doc, 2);
            int rc = medium == 3 ? doc_check(&doc, &err) : buf_check(&out.text, &err);
            doc_release(&doc);
            out_release(&out);
            OOM_EXPECT(rc, &err);
        }
}
